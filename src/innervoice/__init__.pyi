# The public names, as `__init__.py` offers them.

from innervoice.answering.writing import (
    StreamEncoder as StreamEncoder,
)
from innervoice.answering.writing import (
    WrittenAnswer as WrittenAnswer,
)
from innervoice.answering.writing import (
    encode_response as encode_response,
)
from innervoice.answering.writing import (
    encode_stream as encode_stream,
)
from innervoice.answering.writing import (
    written as written,
)
from innervoice.canon.answer_type import (
    StructuredResponse as StructuredResponse,
)
from innervoice.canon.events import (
    Event as Event,
)
from innervoice.canon.events import (
    Finish as Finish,
)
from innervoice.canon.events import (
    Heartbeat as Heartbeat,
)
from innervoice.canon.events import (
    PartEnd as PartEnd,
)
from innervoice.canon.events import (
    PartStart as PartStart,
)
from innervoice.canon.events import (
    Recast as Recast,
)
from innervoice.canon.events import (
    TextDelta as TextDelta,
)
from innervoice.canon.events import (
    ThinkingDelta as ThinkingDelta,
)
from innervoice.canon.events import (
    ToolCallDelta as ToolCallDelta,
)
from innervoice.canon.events import (
    UsageUpdate as UsageUpdate,
)
from innervoice.canon.messages import (
    Message as Message,
)
from innervoice.canon.messages import (
    assistant as assistant,
)
from innervoice.canon.messages import (
    system as system,
)
from innervoice.canon.messages import (
    tool_result as tool_result,
)
from innervoice.canon.messages import (
    user as user,
)
from innervoice.canon.notes import (
    Note as Note,
)
from innervoice.canon.origin import (
    Markup as Markup,
)
from innervoice.canon.origin import (
    Origin as Origin,
)
from innervoice.canon.parts import (
    Media as Media,
)
from innervoice.canon.parts import (
    Opaque as Opaque,
)
from innervoice.canon.parts import (
    Part as Part,
)
from innervoice.canon.parts import (
    Text as Text,
)
from innervoice.canon.parts import (
    Thinking as Thinking,
)
from innervoice.canon.parts import (
    ToolCall as ToolCall,
)
from innervoice.canon.parts import (
    ToolResult as ToolResult,
)
from innervoice.canon.parts import (
    restore as restore,
)
from innervoice.canon.reasoning import (
    Reasoning as Reasoning,
)
from innervoice.canon.reasoning import (
    ReasoningReport as ReasoningReport,
)
from innervoice.canon.request import (
    Request as Request,
)
from innervoice.canon.request import (
    Tool as Tool,
)
from innervoice.canon.request import (
    Wire as Wire,
)
from innervoice.canon.response import (
    Failure as Failure,
)
from innervoice.canon.response import (
    Response as Response,
)
from innervoice.canon.storage import (
    from_json as from_json,
)
from innervoice.canon.storage import (
    to_json as to_json,
)
from innervoice.canon.thinking_metrics import (
    ThinkingMetrics as ThinkingMetrics,
)
from innervoice.canon.usage import (
    Usage as Usage,
)
from innervoice.client.aio import (
    AsyncClient as AsyncClient,
)
from innervoice.client.sync import (
    Client as Client,
)
from innervoice.converting import convert as convert
from innervoice.decoding import (
    StreamDecoder as StreamDecoder,
)
from innervoice.decoding import (
    decode as decode,
)
from innervoice.decoding import (
    decode_stream as decode_stream,
)
from innervoice.errors import (
    AnswerInterruptedError as AnswerInterruptedError,
)
from innervoice.errors import (
    AuthenticationError as AuthenticationError,
)
from innervoice.errors import (
    BadRequestError as BadRequestError,
)
from innervoice.errors import (
    ConnectionFailedError as ConnectionFailedError,
)
from innervoice.errors import (
    DecodeError as DecodeError,
)
from innervoice.errors import (
    InnervoiceError as InnervoiceError,
)
from innervoice.errors import (
    NotFoundError as NotFoundError,
)
from innervoice.errors import (
    OverloadedError as OverloadedError,
)
from innervoice.errors import (
    ProviderError as ProviderError,
)
from innervoice.errors import (
    RateLimitError as RateLimitError,
)
from innervoice.errors import (
    RuleError as RuleError,
)
from innervoice.errors import (
    ServerError as ServerError,
)
from innervoice.errors import (
    TimedOutError as TimedOutError,
)
from innervoice.errors import (
    TransportError as TransportError,
)
from innervoice.errors import (
    UsageError as UsageError,
)
from innervoice.files import (
    file as file,
)
from innervoice.folding import (
    fold as fold,
)
from innervoice.histories import (
    lint as lint,
)
from innervoice.histories import (
    plan as plan,
)
from innervoice.histories import (
    repair as repair,
)
from innervoice.planning.encode import (
    decode_request as decode_request,
)
from innervoice.planning.encode import (
    encode as encode,
)
from innervoice.planning.lint import (
    Problem as Problem,
)
from innervoice.planning.plan import (
    Decision as Decision,
)
from innervoice.planning.plan import (
    Plan as Plan,
)
from innervoice.planning.trim import (
    trim as trim,
)
from innervoice.sources.writers.carrying import (
    CarriedSession as CarriedSession,
)
from innervoice.sources.writers.carrying import (
    carry as carry,
)
from innervoice.splitting import (
    Splitter as Splitter,
)
from innervoice.splitting import (
    split as split,
)

__version__: str
