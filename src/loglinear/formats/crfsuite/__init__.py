"""CRFsuite's formats: data.py its data files, model.py its models, as text and binary."""
