"""Google's generateContent, on AI Studio and Vertex."""
