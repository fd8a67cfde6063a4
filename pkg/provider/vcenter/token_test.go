package vcenter_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// identity is a self-signed certificate in the form of credentials.
func identity(t *testing.T, key any, public any) (creds vcenter.Credentials, der []byte) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "k8s-ccm"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return vcenter.Credentials{
		User:     string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		Password: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})),
	}, der
}

func rsaIdentity(t *testing.T) (vcenter.Credentials, []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return identity(t, key, key.Public())
}

// A certificate as user name logs in with a token that is bound to its key, at both APIs.
func TestLoginByToken(t *testing.T) {
	creds, der := rsaIdentity(t)
	v := &tokenVCenter{knows: base64.StdEncoding.EncodeToString(der)}
	c, stop := run(t, v.serve(t, creds))
	connect(t, c)
	if err := categories(c, t.Context()); err != nil {
		t.Error(err)
	}
	stop()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.soap || v.api {
		t.Errorf("still logged in: SOAP %v, REST %v", v.soap, v.api)
	}
	for _, call := range v.calls {
		if call == "Login" {
			t.Error("a login by password was tried")
		}
	}
}

func TestLoginByTokenRefused(t *testing.T) {
	known, der := rsaIdentity(t)
	unknown, _ := rsaIdentity(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	curve, _ := identity(t, key, key.Public())
	for _, tc := range []struct {
		name    string
		creds   vcenter.Credentials
		refused bool
		want    string
	}{
		{"unknown certificate", unknown, true, "Invalid credentials"},
		{"another's key", vcenter.Credentials{User: known.User, Password: unknown.Password}, false, "does not match"},
		{"no key", vcenter.Credentials{User: known.User, Password: "secret"}, false, "failed to find any PEM data"},
		{"a key that the service does not take", curve, false, "RSA keys only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := &tokenVCenter{knows: base64.StdEncoding.EncodeToString(der)}
			cfg := v.serve(t, tc.creds)
			states := make(chan vcenter.State, 100)
			cfg.OnState = func(s vcenter.State) { states <- s }
			run(t, cfg)
			s := <-states
			if s.Connected || errors.Is(s.Err, vcenter.ErrInvalidLogin) != tc.refused || !strings.Contains(fmt.Sprint(s.Err), tc.want) {
				t.Errorf("state %+v", s)
			}
			if text := fmt.Sprint(s.Err); strings.Contains(text, "BEGIN") || !strings.Contains(text, `certificate "k8s-ccm"`) {
				t.Errorf("error %q does not name the certificate, or tells it", text)
			}
		})
	}
}
