"""Reading operators' messages: `(text, context) -> intents`, pure and total."""
