"""Prints a recording as the published packages mcap and mcap-protobuf-support read it; record_round_trip.rs compares."""
import math
import struct
import sys

from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory


def bits(value):
    return "nan" if math.isnan(value) else struct.pack(">d", value).hex()


with open(sys.argv[1], "rb") as file:
    reader = make_reader(file, decoder_factories=[DecoderFactory()], validate_crcs=True)
    for _, _, message, frame in reader.iter_decoded_messages(topics=["frames"]):
        state = frame.DESCRIPTOR.enum_types_by_name["State"].values_by_number[frame.state].name
        values = [bits(getattr(frame, f"group_channel_{i}")) for i in range(7)]
        print(message.log_time, frame.seq, frame.t_nanos, state, int(frame.drive_on), frame.checksum, *values)
    for _, _, _, event in reader.iter_decoded_messages(topics=["events"]):
        fields = {f.key: getattr(f, f.WhichOneof("value")) for f in event.fields}
        print(event.seq, event.kind, event.text, bits(fields["value"]), fields["id"])
    metadata = list(reader.iter_metadata())
    last = [m.metadata for m in metadata if m.name == "channel"][-1]
    print(last["id"], last["field"], last["unit"], last["role"])
    texts = {a.name: a.data.decode() for a in reader.iter_attachments()}
    print("session.ron", texts["session.ron"].replace("\n", "|"))
    print(next(m.metadata["format_version"] for m in metadata if m.name == "pantobench"))
