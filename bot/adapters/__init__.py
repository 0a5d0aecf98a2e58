"""What touches the world: one folder a neighbour, none of which knows another."""
