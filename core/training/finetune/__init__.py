"""Fine-tuning while one waits: of BERT and of GPT, what is taught, and what moved."""
