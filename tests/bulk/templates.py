"""Chat templates that do what those of the families do with reasoning; written for the tests, not those of the models."""

QWEN3 = """\
{%- set ns = namespace(asked=-1) -%}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.asked = loop.index0 %}{% endif %}{% endfor -%}
{%- for m in messages -%}
{%- set text = m.content -%}{%- set thought = '' -%}
{%- if m.role == 'assistant' -%}
  {%- if m.reasoning_content is string -%}{%- set thought = m.reasoning_content -%}
  {%- elif '</think>' in text -%}
    {%- set thought = text.split('</think>')[0].split('<think>')[-1] -%}{%- set text = text.split('</think>')[-1] -%}
  {%- endif -%}
{%- endif -%}
<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and loop.index0 > ns.asked and (loop.last or thought) -%}
<think>
{{ thought.strip('\\n') }}
</think>

{% endif -%}
{{ text }}
{%- for c in m.tool_calls or [] %}<tool_call>{{ c.function.name }}{{ c.function.arguments }}</tool_call>{% endfor -%}
<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif -%}
"""

GPT_OSS = """\
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
  {%- if '<|channel|>' in m.content or '<|channel|>' in (m.thinking or '') %}{{ raise_exception('channel tags in a message') }}{% endif -%}
  {%- if m.tool_calls -%}
    {%- if m.content and m.thinking %}{{ raise_exception('both content and thinking beside a call') }}{% endif -%}
    {%- set ns = namespace(final=false) -%}
    {%- for f in messages[loop.index:] %}{% if f.role == 'assistant' and not f.tool_calls %}{% set ns.final = true %}{% endif %}{% endfor -%}
    {%- if m.thinking and not ns.final %}<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif -%}
    <|start|>assistant to={{ m.tool_calls[0].function.name }}<|channel|>commentary<|message|>{{ m.tool_calls[0].function.arguments|tojson }}<|call|>
  {%- else -%}
    {%- if loop.last and 'thinking' in m %}<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif -%}
    <|start|>assistant<|channel|>final<|message|>{{ m.content }}{{ '<|return|>' if loop.last else '<|end|>' }}
  {%- endif -%}
{%- else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}<|start|>assistant{% endif -%}
"""

DEEPSEEK = """\
{%- set ns = namespace(asked=-1) -%}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.asked = loop.index0 %}{% endif %}{% endfor -%}
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
<｜Assistant｜>{% if m.reasoning_content and loop.index0 > ns.asked %}<think>{{ m.reasoning_content }}</think>{% endif -%}
{{ m.content.split('</think>')[-1] }}{% for c in m.tool_calls or [] %}<｜call｜>{{ c.function.name }}{{ c.function.arguments }}{% endfor %}<｜end▁of▁sentence｜>
{%- else %}<｜{{ m.role }}｜>{{ m.content }}{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}<｜Assistant｜>{% endif -%}
"""

TEMPLATES = {"qwen3": QWEN3, "gpt-oss": GPT_OSS, "deepseek": DEEPSEEK}
