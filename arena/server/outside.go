package server

import (
	"time"

	"github.com/agora-arena/arena/arena/account"
	"github.com/agora-arena/arena/arena/token"
	"github.com/agora-arena/arena/protocol"
)

// newOutside makes the check of tokens of the operator's issuer; nil when
// none is set.
func (s *Server) newOutside() (account.Issuer, error) {
	if s.cfg.OIDCIssuer == nil {
		return nil, nil //nolint:nilnil // nil has a meaning to the service
	}
	client, err := protocol.NewOperatorClient(protocol.ClientOptions{})
	if err != nil {
		return nil, err
	}
	outside, err := token.NewOutside(token.OutsideOptions{
		Issuer: s.cfg.OIDCIssuer.String(), Audience: s.cfg.OIDCAudience,
		AdminClaim: s.cfg.OIDCAdminClaim, AdminValue: s.cfg.OIDCAdminValue, HTTP: client, Now: time.Now, Logger: s.log,
	})
	if err != nil {
		return nil, err
	}
	return outside, nil
}
