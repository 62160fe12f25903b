"""What pages say of claims: passages, statements, tone, and the models that read them."""
