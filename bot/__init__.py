"""What runs beside Slack: reads orders, asks for evidence, starts stages exactly once."""
