package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const fingerprint = "AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD"

// keyTest is one key of a vCenter with a value in each format, and the result.
type keyTest struct {
	yaml, ini string
	// env is the variable of the global section, vcEnv that of a vCenter.
	env, vcEnv string
	want       func(*VCenter)
}

func keyTests() []keyTest {
	return []keyTest{
		{"port: 8443", "port = 8443", "VSPHERE_VCENTER_PORT=8443", "VCENTER_a_PORT=8443", func(vc *VCenter) { vc.Port = 8443 }},
		{"port: 0x1BC", "port = \"0444\"", "VSPHERE_VCENTER_PORT=0444", "VCENTER_a_PORT=0x1bc", func(vc *VCenter) { vc.Port = 444 }},
		{"user: U-1", "user = U-1", "VSPHERE_USER=U-1", "VCENTER_a_USERNAME=U-1", func(vc *VCenter) { vc.User = "U-1" }},
		{"password: 'a=b # c'", `password = "a=b # c"`, "VSPHERE_PASSWORD=a=b # c", "VCENTER_a_PASSWORD=a=b # c", func(vc *VCenter) { vc.Password = "a=b # c" }},
		{"insecureFlag: true", "insecure-flag = 1", "VSPHERE_INSECURE=true", "VCENTER_a_INSECURE=TRUE", func(vc *VCenter) { vc.InsecureFlag = true }},
		{"insecureFlag: yes", "insecure-flag", "VSPHERE_INSECURE=1", "VCENTER_a_INSECURE=t", func(vc *VCenter) { vc.InsecureFlag = true }},
		{"caFile: /ca.crt", "ca-file = /ca.crt", "VSPHERE_CAFILE=/ca.crt", "VCENTER_a_CAFILE=/ca.crt", func(vc *VCenter) { vc.CAFile = "/ca.crt" }},
		{"thumbprint: " + fingerprint, "thumbprint = " + fingerprint, "VSPHERE_THUMBPRINT=" + fingerprint, "VCENTER_a_THUMBPRINT=" + fingerprint, func(vc *VCenter) { vc.Thumbprint = fingerprint }},
		{
			"datacenters: [dc 1, /eu/dc2, 'Datacenter:datacenter-3']", "datacenters = dc 1, /eu/dc2 ,Datacenter:datacenter-3,",
			"VSPHERE_DATACENTER=dc 1,/eu/dc2,Datacenter:datacenter-3", "VCENTER_a_DATACENTERS=dc 1, /eu/dc2,,Datacenter:datacenter-3",
			func(vc *VCenter) { vc.Datacenters = []string{"dc 1", "/eu/dc2", "Datacenter:datacenter-3"} },
		},
		{"soapRoundtripCount: 7", "soap-roundtrip-count = 7", "VSPHERE_ROUNDTRIP_COUNT=7", "VCENTER_a_ROUNDTRIP=0x7", func(vc *VCenter) { vc.SOAPRoundtripCount = 7 }},
		{"ipFamily: [IPv6, ipv4]", `ip-family = "ipv6, ipv4"`, "", "VCENTER_a_IP_FAMILY=ipv6, IPv4", func(vc *VCenter) { vc.IPFamilies = []IPFamily{IPv6, IPv4} }},
		{
			"secretName: s\nsecretNamespace: n", "secret-name = s\nsecret-namespace = n",
			"VSPHERE_SECRET_NAME=s\nVSPHERE_SECRET_NAMESPACE=n", "VCENTER_a_SECRET_NAME=s\nVCENTER_a_SECRET_NAMESPACE=n",
			func(vc *VCenter) { vc.User, vc.Password, vc.Secret = "", "", SecretRef{"n", "s"} },
		},
	}
}

// Every key works in every format, in the global section and in a vCenter's, which has priority.
func TestVCenterKeys(t *testing.T) {
	base := VCenter{Tenant: "a", Server: "vc", Port: 443, User: "u", Password: "p", SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}}
	iniConf := func(global, own string) string {
		return "[Global]\n" + global + "\n[VirtualCenter \"a\"]\nserver = vc\n" + own + "\n"
	}
	for _, tc := range keyTests() {
		want := base
		tc.want(&want)
		yamlKey, _, _ := strings.Cut(tc.yaml, ":")
		iniKey, _, _ := strings.Cut(tc.ini, " ")
		creds := func(sep, taken string) string {
			var all []string
			for _, key := range []string{"user", "password"} {
				if key != taken {
					all = append(all, key+sep+key[:1])
				}
			}
			return strings.Join(all, "\n")
		}
		ownCreds := func(sep, taken string) string { // a Secret of the global section gives way to a user of the vCenter's own
			if strings.HasPrefix(taken, "secret") {
				return ""
			}
			return creds(sep, taken)
		}
		forms := map[string]struct {
			conf string
			env  []string
		}{
			"yaml global": {"global:\n" + indent(2, creds(": ", yamlKey)+"\n"+tc.yaml) + "vcenter:\n  a:\n    server: vc\n", nil},
			"yaml own":    {"global:\n" + indent(2, creds(": ", "")) + "vcenter:\n  a:\n    server: vc\n" + indent(4, ownCreds(": ", yamlKey)+"\n"+tc.yaml), nil},
			"ini global":  {iniConf(creds(" = ", iniKey)+"\n"+tc.ini, ""), nil},
			"ini own":     {iniConf(creds(" = ", ""), tc.ini), nil},
		}
		const conf = "global: {user: u, password: p}\nvcenter: {a: {server: vc}}\n"
		if tc.env != "" {
			forms["env global"] = struct {
				conf string
				env  []string
			}{conf, strings.Split(tc.env, "\n")}
		}
		forms["env own"] = struct {
			conf string
			env  []string
		}{conf, append(strings.Split(tc.vcEnv, "\n"), "VSPHERE_VCENTER_a=VC")}
		for name, form := range forms {
			t.Run(tc.yaml+"/"+name, func(t *testing.T) {
				got, err := Load("c", []byte(form.conf), WithEnvironment(form.env))
				if err != nil {
					t.Fatalf("%v\n%s", err, form.conf)
				}
				if diff := cmp.Diff([]VCenter{want}, got.VCenters); diff != "" || len(got.Warnings) > 0 {
					t.Errorf("%v, (-want +got):\n%s\n%s", got.Warnings, diff, form.conf)
				}
			})
		}
	}
}

// Every key of nodes in every format that has it.
func TestNodeKeys(t *testing.T) {
	two := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, tc := range []struct {
		yaml, ini, env, value string
		want                  Nodes
	}{
		{"internalNetworkSubnetCidr", "internal-network-subnet-cidr", "VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR", "10.0.0.1/8, 2001:db8::/32", Nodes{InternalSubnets: two}},
		{"externalNetworkSubnetCidr", "external-network-subnet-cidr", "VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR", "10.0.0.0/8,2001:db8::/32,", Nodes{ExternalSubnets: two}},
		{"internalVmNetworkName", "internal-vm-network-name", "VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME", "VM Network ", Nodes{InternalVMNetwork: "VM Network"}},
		{"externalVmNetworkName", "external-vm-network-name", "VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME", "public", Nodes{ExternalVMNetwork: "public"}},
		{"excludeInternalNetworkSubnetCidr", "exclude-internal-network-subnet-cidr", "", "10.0.0.0/8,2001:db8::/32", Nodes{ExcludeInternalSubnets: two}},
		{"excludeExternalNetworkSubnetCidr", "exclude-external-network-subnet-cidr", "", "10.0.0.0/8,2001:db8::/32", Nodes{ExcludeExternalSubnets: two}},
	} {
		check := func(form, conf string, env ...string) {
			t.Run(tc.yaml+"/"+form, func(t *testing.T) {
				got, err := Load("c", []byte(conf), WithEnvironment(env))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got.Nodes, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
		const yaml, ini = "global: {server: vc, user: u, password: p}\n", "[Global]\nserver = vc\nuser = u\npassword = p\n"
		check("yaml", yaml+fmt.Sprintf("nodes: {%s: %q}\n", tc.yaml, tc.value))
		check("ini", ini+fmt.Sprintf("[Nodes]\n%s = %s\n", tc.ini, tc.value))
		check("ini, upper case", ini+fmt.Sprintf("[NODES]\n%s = %s\n", strings.ToUpper(tc.ini), tc.value))
		if tc.env != "" {
			check("env", yaml, tc.env+"="+tc.value)
		}
	}
}

func TestLabelKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		conf string
		env  []string
	}{
		"yaml": {conf: "global: {server: vc, user: u, password: p}\nlabels: {region: r, zone: z}"},
		"ini":  {conf: "[Global]\nserver=vc\nuser=u\npassword=p\n[Labels]\nregion = r\nzone = z"},
		"env":  {"global: {server: vc, user: u, password: p}\nlabels: {region: other}", []string{"VSPHERE_LABEL_REGION=r", "VSPHERE_LABEL_ZONE=z"}},
	} {
		got, err := Load("c", []byte(tc.conf), WithEnvironment(tc.env))
		if err != nil || got.Labels != (Labels{"r", "z"}) || len(got.Warnings) > 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Every key has a test above, except server and secretsDirectory, which have separate ones.
func TestKeysComplete(t *testing.T) {
	var yaml, ini, env, vcEnv string
	for _, tc := range keyTests() {
		yaml, ini, env, vcEnv = yaml+"\n"+tc.yaml, ini+"\n"+tc.ini, env+"\n"+tc.env, vcEnv+"\n"+tc.vcEnv
	}
	for _, f := range vcenterFields() {
		if f.yaml == "server" || f.into == nil {
			continue
		}
		for form, lacks := range map[string]bool{
			f.yaml:               !strings.Contains(yaml, "\n"+f.yaml+":"),
			f.ini:                !strings.Contains(ini, "\n"+f.ini+" ="),
			"VSPHERE_" + f.env:   f.env != "" && !strings.Contains(env, "\nVSPHERE_"+f.env+"="),
			"VCENTER_" + f.vcEnv: f.vcEnv != "" && !strings.Contains(vcEnv, "\nVCENTER_a_"+f.vcEnv+"="),
		} {
			if lacks {
				t.Errorf("%s is not tested", form)
			}
		}
	}
	if got := len(globalFields()); got != 22 || slices.ContainsFunc(globalFields(), func(f field[endpoint]) bool { return f.yaml == "" && f.ini == "" }) {
		t.Errorf("%d fields", got)
	}
}

// A known key without effect is reported once, in any section.
func TestUnused(t *testing.T) {
	for _, tc := range []struct{ name, conf, want string }{
		{"yaml", "global:\n  server: vc\n  user: u\n  password: p\n  apiDisable: true\n  apiBinding: x\n  serviceAccount: y\nnsxt: {host: nsx}\n", `
c:5: global.apiDisable: has no effect
c:6: global.apiBinding: has no effect
c:7: global.serviceAccount: has no effect
c:8: nsxt: has no effect without loadBalancer or route`},
		{"ini", "[Global]\nserver=vc\nuser=u\npassword=p\napi-disable\napi-binding=x\nservice-account=y\ndatastore=d\nworking-dir=w\nvm-uuid=1\nvm-name=2\nsecret-not-managed=true\n[Workspace]\nserver=vc\nanything=x\n[disk]\nscsicontrollertype=pvscsi\n[Network]\npublic-network=n\n[Route]\nrouter-path=y\n[NSX-T]\n", `
c:5: [Global] api-disable: has no effect
c:6: [Global] api-binding: has no effect
c:7: [Global] service-account: has no effect
c:8: [Global] datastore: has no effect
c:9: [Global] working-dir: has no effect
c:10: [Global] vm-uuid: has no effect
c:11: [Global] vm-name: has no effect
c:12: [Global] secret-not-managed: has no effect
c:13: [Workspace]: has no effect
c:16: [disk]: has no effect
c:18: [Network]: has no effect
c:20: [Route]: has no effect without nsxt, which says where NSX is
c:22: [NSX-T]: has no effect, did you mean [NSXT]?`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Load("c", []byte(tc.conf))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(tc.want), strings.Join(got.Warnings, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func indent(n int, text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			b.WriteString(strings.Repeat(" ", n) + line + "\n")
		}
	}
	return b.String()
}
