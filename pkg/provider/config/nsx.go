package config

import (
	"strings"
)

// NSX is the NSX Manager that has the load balancers and routes, and how to log in there: with a client certificate, a token of VMware Cloud,
// the account of a Secret (keys username and password), or User and Password, the first of these that is set.
type NSX struct {
	// Host is a host, host:port, or in VMware Cloud host/path.
	Host                                  string
	User, Password                        string
	Secret                                SecretRef
	ClientAuthCertFile, ClientAuthKeyFile string
	VMCAccessToken, VMCAuthHost           string
	// RemoteAuth: the user is one of an identity provider.
	RemoteAuth   bool
	InsecureFlag bool
	CAFile       string
}

// nsxt is the section of the NSX Manager as written.
type nsxt struct {
	at position

	host, user, password, secretName, secretNamespace cell[string]
	vmcAccessToken, vmcAuthHost, certFile, keyFile    cell[string]
	caFile                                            cell[string]
	insecureFlag, remoteAuth                          cell[bool]
}

func nsxtFields() []field[nsxt] {
	return []field[nsxt]{
		{"host", "host", "MANAGER_HOST", "", func(n *nsxt) any { return &n.host }},
		{"user", "user", "USERNAME", "", func(n *nsxt) any { return &n.user }},
		{"password", "password", "PASSWORD", "", func(n *nsxt) any { return &n.password }},
		{"secretName", "secret-name", "SECRET_NAME", "", func(n *nsxt) any { return &n.secretName }},
		{"secretNamespace", "secret-namespace", "SECRET_NAMESPACE", "", func(n *nsxt) any { return &n.secretNamespace }},
		{"clientAuthCertFile", "client-auth-cert-file", "CLIENT_AUTH_CERT_FILE", "", func(n *nsxt) any { return &n.certFile }},
		{"clientAuthKeyFile", "client-auth-key-file", "CLIENT_AUTH_KEY_FILE", "", func(n *nsxt) any { return &n.keyFile }},
		{"vmcAccessToken", "vmc-access-token", "", "", func(n *nsxt) any { return &n.vmcAccessToken }},
		{"vmcAuthHost", "vmc-auth-host", "", "", func(n *nsxt) any { return &n.vmcAuthHost }},
		{"remoteAuth", "remote-auth", "", "", func(n *nsxt) any { return &n.remoteAuth }},
		{"insecureFlag", "insecure-flag", "ALLOW_UNVERIFIED_SSL", "", func(n *nsxt) any { return &n.insecureFlag }},
		{"caFile", "ca-file", "CA_FILE", "", func(n *nsxt) any { return &n.caFile }},
	}
}

// resolveNSX returns the NSX Manager, and nil if none is configured.
func (f *file) resolveNSX(p *problems) *NSX {
	n := &f.nsxt
	if !n.said() {
		return nil
	}
	if !f.balancers.said() && len(f.classes) == 0 && !f.route.routerPath.set {
		if n.at.line > 0 {
			p.warn(n.at, "has no effect without loadBalancer or route")
		}
		return nil
	}
	at := n.at
	if at.file == "" {
		at = position{file: environment, path: "NSXT_MANAGER_HOST"}
	}
	n.check(at, p)
	r := &NSX{
		Host: n.host.value, RemoteAuth: n.remoteAuth.value, InsecureFlag: n.insecureFlag.value, CAFile: n.caFile.value,
	}
	// As in upstream's provider: a certificate, else a token, and a Secret replaces user and password once it has been read.
	ways := []struct {
		parts []cell[string]
		names string
		use   func()
	}{
		{[]cell[string]{n.certFile, n.keyFile}, "clientAuthCertFile and clientAuthKeyFile", func() {
			r.ClientAuthCertFile, r.ClientAuthKeyFile = n.certFile.value, n.keyFile.value
		}},
		{[]cell[string]{n.vmcAccessToken, n.vmcAuthHost}, "vmcAccessToken and vmcAuthHost", func() {
			r.VMCAccessToken, r.VMCAuthHost = n.vmcAccessToken.value, n.vmcAuthHost.value
		}},
		{[]cell[string]{n.secretName, n.secretNamespace}, "secretName and secretNamespace", func() {
			r.Secret = SecretRef{Name: n.secretName.value, Namespace: n.secretNamespace.value}
		}},
		{[]cell[string]{n.user, n.password}, "user and password", func() { r.User, r.Password = n.user.value, n.password.value }},
	}
	used := ""
	for _, way := range ways {
		first, second := way.parts[0], way.parts[1]
		switch {
		case first.set != second.set:
			p.at(first.or(second).at, "", "set both %s", way.names)
			used = way.names
		case first.set && used != "":
			p.warn(first.at, "has no effect: NSX is asked with %s", used)
		case first.set:
			used = way.names
			way.use()
		}
	}
	if used == "" {
		p.at(at, "", "credentials are missing: a Secret (secretName, secretNamespace), user and password, a client certificate (clientAuthCertFile, clientAuthKeyFile), or a token (vmcAccessToken, vmcAuthHost)")
	}
	if n.remoteAuth.value && r.User == "" && r.Secret == (SecretRef{}) && used != "" {
		p.warn(n.remoteAuth.at, "has no effect with %s", used)
	}
	return r
}

func (n *nsxt) said() bool {
	return n.host.set || n.user.set || n.password.set || n.secretName.set || n.secretNamespace.set || n.certFile.set || n.keyFile.set || n.vmcAccessToken.set
}

// check validates single values.
func (n *nsxt) check(at position, p *problems) {
	for _, host := range []cell[string]{n.host, n.vmcAuthHost} {
		if !host.good() {
			continue
		}
		bare := scheme.ReplaceAllString(host.value, "")
		switch {
		case bare != host.value:
			p.at(host.at, "write "+withoutLogin(bare), "%q: must be without scheme", withoutLogin(host.value))
		case strings.ContainsAny(host.value, " \t@?#"):
			p.at(host.at, "", "%q: must be a host name or address, with :PORT if it is not 443", withoutLogin(host.value))
		}
	}
	if !n.host.set {
		p.at(at, "", "host is missing: the name or address of the NSX Manager")
	}
	for _, v := range []struct {
		cell[string]
		secret bool
	}{{n.host, false}, {n.user, false}, {n.password, true}, {n.vmcAccessToken, true}} {
		if found := controlCharacter(v.value, v.secret); v.good() && found != "" {
			p.at(v.at, v.hint, "has %s", found)
		}
	}
}

// normalNSX and the types after it are the form that YAML writes.
type normalNSX struct {
	Host               string `yaml:"host"`
	User               string `yaml:"user,omitempty"`
	Password           string `yaml:"password,omitempty"`
	SecretName         string `yaml:"secretName,omitempty"`
	SecretNamespace    string `yaml:"secretNamespace,omitempty"`
	ClientAuthCertFile string `yaml:"clientAuthCertFile,omitempty"`
	ClientAuthKeyFile  string `yaml:"clientAuthKeyFile,omitempty"`
	VMCAccessToken     string `yaml:"vmcAccessToken,omitempty"`
	VMCAuthHost        string `yaml:"vmcAuthHost,omitempty"`
	RemoteAuth         bool   `yaml:"remoteAuth,omitempty"`
	InsecureFlag       bool   `yaml:"insecureFlag"`
	CAFile             string `yaml:"caFile,omitempty"`
}

// masked returns a copy without secrets.
func (n *NSX) masked() *NSX {
	if n == nil {
		return nil
	}
	masked := *n
	for _, secret := range []*string{&masked.Password, &masked.VMCAccessToken} {
		if *secret != "" {
			*secret = Mask
		}
	}
	return &masked
}
