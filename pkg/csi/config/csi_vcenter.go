package config

import (
	"encoding/pem"
	"regexp"
	"strings"

	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

var thumbprint = regexp.MustCompile(`^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){19}$|^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){31}$`)

// vcenter reads one vCenter, which inherits from the global section.
func (w *written) vcenter(name string, at value, fallback string) VCenter {
	own := w.vcenters[name]
	get := func(key string) value { return own.get(key).or(w.global.get(key)) }
	if message, hint := provider.HostProblem(name); message != "" {
		w.problem(at, hint, "%s", message)
	}
	vc := VCenter{
		Tenant:             name,
		Server:             strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"),
		Port:               w.number(get("port"), 1, 65535, 443),
		InsecureFlag:       w.truth(get("insecure-flag")),
		CAFile:             get("ca-file").text,
		Thumbprint:         get("thumbprint").text,
		Datacenters:        list(get("datacenters")),
		SOAPRoundtripCount: 3,
	}
	if v := get("thumbprint"); v.set && !thumbprint.MatchString(v.text) {
		w.problem(v, "", "%q: a SHA-1 or SHA-256 fingerprint in colon form is needed", v.text)
	}
	user, password := get("user"), get("password")
	switch {
	case user.set && password.set:
		vc.User, vc.Password = user.text, password.text
		if block, _ := pem.Decode([]byte(user.text)); block == nil && !strings.ContainsAny(user.text, `@\`) {
			w.warn(user, `%q has no domain, as in user@domain or domain\user: upstream's driver refuses it`, user.text)
		}
	case fallback != "" && !user.set && !password.set:
		vc.SecretsDirectory = fallback
	default:
		w.problem(at, "", "credentials are missing: user and password are needed")
	}
	return vc
}
