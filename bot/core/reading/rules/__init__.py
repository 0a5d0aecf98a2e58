"""The rules, one module for each situation a run can be in; the first rule of a list that answers decides."""
