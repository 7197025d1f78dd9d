"""AWS Bedrock's Converse and ConverseStream."""
