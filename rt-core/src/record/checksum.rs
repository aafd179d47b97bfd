//! A checksum over the exact bits of a frame: the proof that a recomputation is identical.

/// 64 bits over the bits of all columns, in their order.
///
/// ```text
/// h₀ = n,  hₖ₊₁ = (rotate(hₖ, 23) ⊕ bits(xₖ)) · m  mod 2⁶⁴,  checksum = mix(hₙ)
/// ```
///
/// Every step is one-to-one in hₖ and in xₖ (m is odd, `mix` is the final mixing of MurmurHash3), so a
/// difference in one column is always seen, and one in several with a probability of 1 − 2⁻⁶⁴. Zeros of
/// either sign and all kinds of NaN count as different: it is about bits, not about values.
pub fn checksum(values: &[f64]) -> u64 {
    const M: u64 = 0x9E37_79B9_7F4A_7C15;
    let h = values.iter().fold(values.len() as u64, |h, x| {
        (h.rotate_left(23) ^ x.to_bits()).wrapping_mul(M)
    });
    let h = (h ^ (h >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let h = (h ^ (h >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_single_bit_counts() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i) * 0.37 - 2.0).collect();
        let reference = checksum(&values);
        for column in 0..values.len() {
            for bit in 0..64 {
                let mut other = values.clone();
                other[column] = f64::from_bits(other[column].to_bits() ^ (1 << bit));
                assert_ne!(checksum(&other), reference, "column {column}, bit {bit}");
            }
        }
    }

    #[test]
    fn order_length_and_the_sign_of_zero_count() {
        assert_ne!(checksum(&[1.0, 2.0]), checksum(&[2.0, 1.0]));
        assert_ne!(checksum(&[]), checksum(&[0.0]));
        assert_ne!(checksum(&[0.0]), checksum(&[-0.0]));
        assert_eq!(checksum(&[f64::NAN]), checksum(&[f64::NAN]));
    }

    /// Files hold these numbers: the function never changes. The values were computed with Python's
    /// integers from the formula above.
    #[test]
    fn it_is_the_same_for_ever() {
        assert_eq!(checksum(&[]), 0);
        assert_eq!(checksum(&[1.5, -2.25, 1e-300]), 0x3ECD_F3C6_7B13_C24C);
    }
}
