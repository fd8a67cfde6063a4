package vcenter

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// issue asks the vCenter's token service for a token that is bound to the key of a certificate. The credentials hold
// the certificate as user and the key as password, as upstream's configuration has it.
func issue(ctx context.Context, cfg *Config, vim *vim25.Client, creds Credentials) (*sts.Signer, error) {
	cert, err := tls.X509KeyPair([]byte(creds.User), []byte(creds.Password))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", creds, err)
	}
	if _, ok := cert.PrivateKey.(*rsa.PrivateKey); !ok {
		return nil, fmt.Errorf("%s: the token service takes RSA keys only, not %T", creds, cert.PrivateKey)
	}
	tokens, err := sts.NewClient(ctx, vim)
	if err != nil {
		return nil, fmt.Errorf("token service: %w", err)
	}
	tokens.RoundTripper = cfg.observe(tokens.Client)
	signer, err := tokens.Issue(ctx, sts.TokenRequest{Certificate: &cert, Delegatable: true})
	if refusedToken(err) {
		return nil, fmt.Errorf("token service: %s: %w: %w", creds, ErrInvalidLogin, err)
	}
	if err != nil {
		return nil, fmt.Errorf("token service: %w", err)
	}
	return signer, nil
}

// refusedToken reports whether the token service knows no such certificate, in the words of WS-Trust and WS-Security.
func refusedToken(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) {
			code := soap.ToSoapFault(err).Code
			return strings.HasSuffix(code, "FailedAuthentication") || strings.HasSuffix(code, "InvalidSecurityToken")
		}
	}
	return false
}
