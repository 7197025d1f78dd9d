"""The tables of the store in PostgreSQL, and its statements.

Names are bytes: PostgreSQL's text cannot hold every character. A transaction that deletes items first locks the row of their tenant, so
that the sums stay correct and there are no deadlocks.
"""

from __future__ import annotations

__all__ = [
    "COUNT",
    "DELETE",
    "EVICTED",
    "EXPIRED_TENANTS",
    "FORGET",
    "FULL_TENANTS",
    "GET",
    "ITEMS",
    "LOCK",
    "PUT",
    "READ_COUNTERS",
    "SWEEP",
    "SWEEP_COUNTERS",
    "TABLES",
    "TABLES_ARE_THERE",
    "TENANTS",
    "USAGE",
    "VACUUM",
    "VERSION",
]

VERSION = 1

TABLES = (
    """
CREATE TABLE innervoice_tenants (
    name bytea PRIMARY KEY,
    items bigint NOT NULL,
    size bigint NOT NULL
)""",
    """
CREATE TABLE innervoice_items (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant bytea NOT NULL,
    id bytea NOT NULL,
    kind bytea NOT NULL,
    created double precision NOT NULL,
    used double precision NOT NULL,
    kept boolean NOT NULL,
    keys bytea[] NOT NULL,
    data bytea NOT NULL,
    UNIQUE (tenant, id)
)""",
    # The data is already compressed and sealed.
    "ALTER TABLE innervoice_items ALTER COLUMN data SET STORAGE EXTERNAL",
    "CREATE INDEX innervoice_items_by_use ON innervoice_items (tenant, used) WHERE NOT kept",
    "CREATE INDEX innervoice_items_by_age ON innervoice_items (created) WHERE NOT kept",
    "CREATE INDEX innervoice_items_unused ON innervoice_items (used) WHERE NOT kept",
    """
CREATE TABLE innervoice_keys (
    tenant bytea NOT NULL,
    key bytea NOT NULL,
    item bigint NOT NULL,
    PRIMARY KEY (tenant, key, item)
)""",
    """
CREATE TABLE innervoice_counters (
    name bytea PRIMARY KEY,
    sum double precision NOT NULL,
    ends double precision NOT NULL
)""",
    "CREATE INDEX innervoice_counters_by_end ON innervoice_counters (ends)",
    # The last statement: if its table exists, all do.
    f"CREATE TABLE innervoice_schema AS SELECT {VERSION} AS version",
)

# Not `to_regclass`, which does not see tables that were created while a transaction waited for its lock.
TABLES_ARE_THERE = """
SELECT EXISTS (SELECT FROM pg_catalog.pg_tables
WHERE schemaname = ANY (current_schemas(false)) AND tablename = 'innervoice_schema')
"""

# tenant, id, kind, created, used, kept, keys, data, how many items a key may have
PUT = """
WITH made AS (
    INSERT INTO innervoice_items (tenant, id, kind, created, used, kept, keys, data)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant, id) DO NOTHING
    RETURNING number, kept
), under AS (
    INSERT INTO innervoice_keys SELECT $1, asked.key, number FROM made, unnest($7::bytea[]) AS asked (key)
    WHERE (SELECT count(*) FROM (
        SELECT FROM innervoice_keys AS known WHERE known.tenant = $1 AND known.key = asked.key LIMIT $9
    ) AS crowd) < $9
)
INSERT INTO innervoice_tenants AS tenants
SELECT $1, CASE WHEN kept THEN 0 ELSE 1 END, CASE WHEN kept THEN 0 ELSE length($8) END FROM made
ON CONFLICT (name) DO UPDATE SET items = tenants.items + excluded.items, size = tenants.size + excluded.size
RETURNING size
"""

# tenant, keys, known, used since, created since, now, the time of use is updated if it was before
GET = """
WITH hits AS (
    SELECT item, array_agg(key) AS keys FROM innervoice_keys
    WHERE tenant = $1 AND key = ANY ($2::bytea[]) GROUP BY item
), found AS (
    SELECT number, id, hits.keys, created, used, data FROM hits JOIN innervoice_items ON number = item
    WHERE tenant = $1 AND (kept OR (used >= $4 AND created >= $5))
), stale AS (
    SELECT number FROM innervoice_items WHERE number IN (SELECT number FROM found WHERE used < $7)
    FOR NO KEY UPDATE SKIP LOCKED
), touched AS (
    UPDATE innervoice_items SET used = $6 WHERE number IN (SELECT number FROM stale)
)
SELECT id, keys, created, CASE WHEN id = ANY ($3::bytea[]) THEN NULL ELSE data END AS data FROM found
"""

# tenant, kind, used since, created since
ITEMS = """
SELECT id, data, created, kept FROM innervoice_items
WHERE tenant = $1 AND kind = $2 AND (kept OR (used >= $3 AND created >= $4)) ORDER BY created, number
"""

LOCK = "SELECT size FROM innervoice_tenants WHERE name = $1 FOR UPDATE"

_DROP = """
WITH chosen AS ({chosen}), gone AS (
    DELETE FROM innervoice_items WHERE tenant = $1 AND number IN (SELECT number FROM chosen)
    RETURNING number, kept, length(data) AS size, keys
), under AS (
    DELETE FROM innervoice_keys USING (SELECT number, unnest(keys) AS key FROM gone) AS names
    WHERE innervoice_keys.tenant = $1 AND innervoice_keys.key = names.key AND item = number
), sums AS (
    UPDATE innervoice_tenants SET items = items - (SELECT count(*) FROM gone WHERE NOT kept),
    size = size - (SELECT coalesce(sum(size), 0) FROM gone WHERE NOT kept) WHERE name = $1
)
SELECT count(*) FROM gone
"""

# tenant, keys
DELETE = _DROP.format(
    chosen="SELECT item AS number FROM innervoice_keys WHERE tenant = $1 AND key = ANY ($2::bytea[])"
)
# tenant, how many at most
FORGET = _DROP.format(
    chosen="SELECT number FROM innervoice_items WHERE tenant = $1 AND NOT kept LIMIT $2"
)
# tenant, used since, created since, how many at most
SWEEP = _DROP.format(
    chosen="SELECT number FROM innervoice_items"
    " WHERE tenant = $1 AND NOT kept AND (used < $2 OR created < $3) LIMIT $4"
)
# tenant, excess bytes, how many at most: the least recently used; the last of all stays.
EVICTED = _DROP.format(
    chosen="SELECT number FROM (SELECT number, sum(length(data)) OVER oldest - length(data) AS before,"
    " lead(number) OVER oldest AS next"
    " FROM (SELECT number, used, created, data FROM innervoice_items WHERE tenant = $1 AND NOT kept"
    " ORDER BY used, created, number LIMIT $3) AS first"
    " WINDOW oldest AS (ORDER BY used, created, number ROWS UNBOUNDED PRECEDING)) AS ordered"
    " WHERE before < $2 AND next IS NOT NULL"
)

TENANTS = "SELECT name FROM innervoice_tenants"
EXPIRED_TENANTS = """
SELECT tenant FROM (SELECT tenant FROM innervoice_items WHERE NOT kept AND used < $1 LIMIT $3) AS unused
UNION SELECT tenant FROM (SELECT tenant FROM innervoice_items WHERE NOT kept AND created < $2 LIMIT $3) AS aged
"""
FULL_TENANTS = "SELECT name FROM innervoice_tenants WHERE size > $1 AND items > 1"
USAGE = """
SELECT name, items, size, (SELECT min(created) FROM innervoice_items WHERE tenant = name AND NOT kept) AS oldest
FROM innervoice_tenants WHERE items > 0
"""

# names, amounts, now, when new ones end; always in the order of their names, so that there are no deadlocks
COUNT = """
INSERT INTO innervoice_counters AS counters
SELECT name, amount, $4 FROM unnest($1::bytea[], $2::double precision[]) AS asked (name, amount) ORDER BY name
ON CONFLICT (name) DO UPDATE SET
    sum = CASE WHEN counters.ends <= $3 THEN 0 ELSE counters.sum END + excluded.sum,
    ends = CASE WHEN counters.ends <= $3 THEN excluded.ends ELSE counters.ends END
RETURNING name, sum
"""
READ_COUNTERS = (
    "SELECT name, sum FROM innervoice_counters WHERE name = ANY ($1::bytea[]) AND ends > $2"
)
SWEEP_COUNTERS = """
DELETE FROM innervoice_counters WHERE name IN
(SELECT name FROM innervoice_counters WHERE ends <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
VACUUM = (
    "VACUUM (ANALYZE) innervoice_items, innervoice_keys, innervoice_tenants, innervoice_counters"
)
