"""What is to be computed: rule plans, delta rules, strata, indexes."""
