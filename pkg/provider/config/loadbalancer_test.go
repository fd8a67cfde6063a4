package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	vcenterYAML = "global: {server: vc, user: u, password: p}\n"
	vcenterINI  = "[Global]\nserver = vc\nuser = u\npassword = p\n"
	// allYAML and allINI set every key of load balancers.
	allYAML = vcenterYAML + `nsxt:
  host: nsx.example:8443
  secretName: nsx
  secretNamespace: kube-system
  remoteAuth: true
  insecureFlag: true
  caFile: /ca.crt
loadBalancer:
  size: MEDIUM
  lbServiceId: "4711"
  tier1GatewayPath: /infra/tier-1s/one
  snatDisabled: true
  tags: {env: prod, owner: me}
  ipPoolId: pool-1
  tcpAppProfileName: default-tcp-lb-app-profile
  udpAppProfilePath: /infra/lb-app-profiles/udp
loadBalancerClass:
  public:
    ipPoolName: Public
    tcpAppProfilePath: /infra/lb-app-profiles/tcp
  internal:
`
	allINI = vcenterINI + `[NSXT]
host = nsx.example:8443
secret-name = nsx
secret-namespace = kube-system
remote-auth = true
insecure-flag
ca-file = /ca.crt
[LoadBalancer]
size = MEDIUM
lb-service-id = 4711
tier1-gateway-path = /infra/tier-1s/one
snat-disabled = true
tags = {\"env\": \"prod\", \"owner\": \"me\"}
ip-pool-id = pool-1
tcp-app-profile-name = default-tcp-lb-app-profile
udp-app-profile-path = /infra/lb-app-profiles/udp
[LoadBalancerClass "public"]
ip-pool-name = Public
tcp-app-profile-path = /infra/lb-app-profiles/tcp
[LoadBalancerClass "internal"]
`
)

// TestLoadBalancer: every key in both formats, and a class has from the default what it does not say.
func TestLoadBalancer(t *testing.T) {
	standard := LoadBalancerClass{IPPoolID: "pool-1", TCPAppProfileName: "default-tcp-lb-app-profile", UDPAppProfilePath: "/infra/lb-app-profiles/udp"}
	wantNSX := &NSX{Host: "nsx.example:8443", Secret: SecretRef{"kube-system", "nsx"}, RemoteAuth: true, InsecureFlag: true, CAFile: "/ca.crt"}
	want := &LoadBalancer{
		Size: "MEDIUM", LBServiceID: "4711", Tier1GatewayPath: "/infra/tier-1s/one", SNATDisabled: true,
		Tags: map[string]string{"env": "prod", "owner": "me"},
		Classes: map[string]LoadBalancerClass{
			"default":  standard,
			"internal": standard,
			"public":   {IPPoolName: "Public", TCPAppProfilePath: "/infra/lb-app-profiles/tcp", UDPAppProfilePath: "/infra/lb-app-profiles/udp"},
		},
	}
	for name, text := range map[string]string{"yaml": allYAML, "ini": allINI} {
		cfg, err := Load("c", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, cfg.LoadBalancer) + cmp.Diff(wantNSX, cfg.NSX); diff != "" || len(cfg.Warnings) > 0 {
			t.Errorf("%s: %v (-want +got):\n%s", name, cfg.Warnings, diff)
		}
		normal, err := cfg.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load("c", normal)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, normal)
		}
		if diff := cmp.Diff(want, again.LoadBalancer) + cmp.Diff(wantNSX, again.NSX); diff != "" {
			t.Errorf("%s: rendered and read again (-want +got):\n%s", name, diff)
		}
	}
}

// balancerYAML is a configuration with these lines below nsxt and loadBalancer.
func balancerYAML(nsxt, balancer string) string {
	const good = "size: SMALL, tier1GatewayPath: /infra/tier-1s/one, ipPoolName: p, tcpAppProfileName: t, udpAppProfileName: u"
	if balancer == "" {
		balancer = good
	}
	balancer = strings.Replace(balancer, "GOOD", good, 1)
	return vcenterYAML + "nsxt: {" + nsxt + "}\nloadBalancer: {" + balancer + "}\n"
}

// TestNSXLogins: each way to log in, and which one counts.
func TestNSXLogins(t *testing.T) {
	for name, tc := range map[string]struct {
		nsxt    string
		environ []string
		want    NSX
		warning string
	}{
		"user":        {"host: n, user: a, password: b", nil, NSX{Host: "n", User: "a", Password: "b"}, ""},
		"certificate": {"host: n, clientAuthCertFile: /c, clientAuthKeyFile: /k", nil, NSX{Host: "n", ClientAuthCertFile: "/c", ClientAuthKeyFile: "/k"}, ""},
		"token":       {"host: n/vmc, vmcAccessToken: t, vmcAuthHost: h/p", nil, NSX{Host: "n/vmc", VMCAccessToken: "t", VMCAuthHost: "h/p"}, ""},
		"secret and user": {
			"host: n, user: a, password: b, secretName: s, secretNamespace: n", nil,
			NSX{Host: "n", Secret: SecretRef{"n", "s"}},
			"c:2: nsxt.user: has no effect: NSX is asked with secretName and secretNamespace",
		},
		"remote with a certificate": {
			"host: n, remoteAuth: true, clientAuthCertFile: /c, clientAuthKeyFile: /k", nil,
			NSX{Host: "n", RemoteAuth: true, ClientAuthCertFile: "/c", ClientAuthKeyFile: "/k"},
			"c:2: nsxt.remoteAuth: has no effect with clientAuthCertFile and clientAuthKeyFile",
		},
		"environment": {"host: n, user: a, password: b", []string{
			"NSXT_MANAGER_HOST=m", "NSXT_USERNAME=c", "NSXT_PASSWORD=d", "NSXT_ALLOW_UNVERIFIED_SSL=true", "NSXT_CA_FILE=/ca",
		}, NSX{Host: "m", User: "c", Password: "d", InsecureFlag: true, CAFile: "/ca"}, ""},
		"environment alone": {"", []string{
			"NSXT_MANAGER_HOST=m", "NSXT_CLIENT_AUTH_CERT_FILE=/c", "NSXT_CLIENT_AUTH_KEY_FILE=/k",
		}, NSX{Host: "m", ClientAuthCertFile: "/c", ClientAuthKeyFile: "/k"}, ""},
		"environment's Secret": {"", []string{
			"NSXT_MANAGER_HOST=m", "NSXT_SECRET_NAME=s", "NSXT_SECRET_NAMESPACE=n",
		}, NSX{Host: "m", Secret: SecretRef{"n", "s"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Load("c", []byte(balancerYAML(tc.nsxt, "")), WithEnvironment(tc.environ))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, cfg.NSX); diff != "" || strings.Join(cfg.Warnings, "\n") != tc.warning {
				t.Errorf("%q (-want +got):\n%s", cfg.Warnings, diff)
			}
		})
	}
}

// TestLoadBalancerProblems: what is refused, and how that is said.
func TestLoadBalancerProblems(t *testing.T) {
	const login = "host: n, user: a, password: b"
	for name, tc := range map[string]struct{ text, want string }{
		"unknown key":     {balancerYAML(login+", hosts: x", ""), "c:2: nsxt.hosts: unknown key, did you mean host?"},
		"no host":         {balancerYAML("user: a, password: b", ""), "c:2: nsxt: host is missing: the name or address of the NSX Manager"},
		"scheme":          {balancerYAML("host: 'https://n', user: a, password: b", ""), `c:2: nsxt.host: "https://n": must be without scheme, write n`},
		"no login":        {balancerYAML("host: n", ""), "c:2: nsxt: credentials are missing: a Secret (secretName, secretNamespace), user and password, a client certificate (clientAuthCertFile, clientAuthKeyFile), or a token (vmcAccessToken, vmcAuthHost)"},
		"half a login":    {balancerYAML("host: n, user: a", ""), "c:2: nsxt.user: set both user and password"},
		"half a Secret":   {balancerYAML("host: n, secretName: a", ""), "c:2: nsxt.secretName: set both secretName and secretNamespace"},
		"half a token":    {balancerYAML("host: n, vmcAccessToken: a", ""), "c:2: nsxt.vmcAccessToken: set both vmcAccessToken and vmcAuthHost"},
		"size":            {balancerYAML(login, "size: SMAL, tier1GatewayPath: /t, ipPoolName: p, tcpAppProfileName: t, udpAppProfileName: u"), `c:3: loadBalancer.size: "SMAL" is none of SMALL, MEDIUM, LARGE, XLARGE, DLB, did you mean SMALL?`},
		"no size":         {balancerYAML(login, "tier1GatewayPath: /t, ipPoolName: p, tcpAppProfileName: t, udpAppProfileName: u"), "c:3: loadBalancer: size is missing: SMALL, MEDIUM, LARGE, XLARGE, DLB"},
		"no gateway":      {balancerYAML(login, "size: SMALL, ipPoolName: p, tcpAppProfileName: t, udpAppProfileName: u"), "c:3: loadBalancer: tier1GatewayPath is missing (/infra/tier-1s/NAME), or lbServiceId of a load balancer service that exists"},
		"name as gateway": {balancerYAML(login, "size: SMALL, tier1GatewayPath: t, ipPoolName: p, tcpAppProfileName: t, udpAppProfileName: u"), `c:3: loadBalancer.tier1GatewayPath: "t" is no path, write /infra/tier-1s/t for the gateway of that name`},
		"no pool":         {balancerYAML(login, "size: SMALL, tier1GatewayPath: /t, tcpAppProfileName: t, udpAppProfileName: u"), "c:3: loadBalancer: ipPoolName or ipPoolId is missing: the IP pool of Services without a class"},
		"two pools":       {balancerYAML(login, "GOOD, ipPoolId: q"), "c:3: loadBalancer.ipPoolName: set either ipPoolName or ipPoolId"},
		"pool as path":    {balancerYAML(login, "size: SMALL, tier1GatewayPath: /t, ipPoolId: /infra/ip-pools/p, tcpAppProfileName: t, udpAppProfileName: u"), `c:3: loadBalancer.ipPoolId: "/infra/ip-pools/p" is a path, not an identifier, write p`},
		"no profile":      {balancerYAML(login, "size: SMALL, tier1GatewayPath: /t, ipPoolName: p, udpAppProfileName: u"), "c:3: loadBalancer: tcpAppProfileName or tcpAppProfilePath is missing, NSX has default-tcp-lb-app-profile"},
		"own scope":       {balancerYAML(login, "GOOD, tags: {cluster: x}"), `c:3: loadBalancer.tags: the scope "cluster" is the provider's own, choose another scope`},
		"tags as text":    {balancerYAML(login, "GOOD, tags: x"), `c:3: loadBalancer.tags: must be a mapping, not the text "x", write {SCOPE: TAG}`},
		"a class's key":   {balancerYAML(login, "") + "loadBalancerClass: {public: {size: SMALL}}\n", "c:4: loadBalancerClass.public.size: unknown key, did you mean loadBalancer.size?"},
		"ini class":       {vcenterINI + "[LoadBalancerClass]\n", `c:5: [LoadBalancerClass]: a class's section has its name in quotes: [LoadBalancerClass "public"]`},
		"ini tags":        {vcenterINI + "[LoadBalancer]\ntags = a=b\n", "c:6: [LoadBalancer] tags: must be a JSON object of texts: invalid character 'a' looking for beginning of value, write {\\\"SCOPE\\\": \\\"TAG\\\"}"},
		"truth":           {balancerYAML(login, "GOOD, snatDisabled: perhaps"), `c:3: loadBalancer.snatDisabled: must be true or false, not the text "perhaps"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load("c", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// TestNSXMasked: no secret of NSX is in a masked configuration.
func TestNSXMasked(t *testing.T) {
	cfg, err := Load("c", []byte(balancerYAML("host: n, user: a, password: hush", "")))
	if err != nil {
		t.Fatal(err)
	}
	text, err := cfg.Masked().YAML()
	if err != nil || strings.Contains(string(text), "hush") || cfg.NSX.Password != "hush" {
		t.Errorf("%v\n%s", err, text)
	}
}
