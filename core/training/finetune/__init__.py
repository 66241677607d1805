"""Fine-tuning of BERT, GPT and ELMo's mixture within a visitor's patience, and the distance that weights move."""
