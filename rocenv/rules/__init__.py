"""Judgements that a plan and a doctor share, made once and told in the same words, whoever asks. All pure."""
