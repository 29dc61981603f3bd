-- What else owners may have in common, for the report on anomalies: the domain
-- of their endpoints and the network that they signed up from. Both are known
-- of new rows only.

-- +goose Up
ALTER TABLE agents ADD COLUMN endpoint_domain TEXT COLLATE "C" NOT NULL DEFAULT ''; -- '': none, or an address
CREATE INDEX agents_by_endpoint_domain ON agents (endpoint_domain, id) WHERE endpoint_domain <> '';
ALTER TABLE owners ADD COLUMN network TEXT COLLATE "C" NOT NULL DEFAULT ''; -- '': unknown, or not public
CREATE INDEX owners_by_network ON owners (network, id) WHERE network <> '';

-- +goose Down
DROP INDEX owners_by_network;
ALTER TABLE owners DROP COLUMN network;
DROP INDEX agents_by_endpoint_domain;
ALTER TABLE agents DROP COLUMN endpoint_domain;
