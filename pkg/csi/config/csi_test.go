package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
)

const full = `
# as upstream's documentation has it
[Global]
cluster-id = "my-cluster"
cluster-distribution = "Sandbox"
insecure-flag = "true"
user = "global@vsphere.local"
password = "global \"secret\""
port = "8443"
query-limit = "500"
csi-auth-check-intervalinmin = 5

[VirtualCenter "vc-west.example"]
user = "west@vsphere.local"
password = "west"
datacenters = "dc1, /folder/dc2"
insecure-flag = "false"
ca-file = /etc/ca.crt
targetvSANFileShareClusters = "domain-c8"

[virtualcenter "192.0.2.7"]
PORT = 443

[Labels]
topology-categories = "k8s-region, k8s-zone,k8s-rack"
[TopologyCategory "k8s-zone"]
label = "topology.kubernetes.io/zone"
[Snapshot]
global-max-snapshots-per-block-volume = 10
granular-max-snapshots-per-block-volume-vsan = 4
[NetPermissions "a"]
ips = "*"
`

func TestCSI(t *testing.T) {
	got, err := config.Load("csi-vsphere.conf", []byte(full), config.ReadOptions{ClusterID: "not this one"})
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		Form: config.CSI, ClusterID: "my-cluster", Distribution: "Sandbox",
		VCenters: []config.VCenter{
			{
				Tenant: "192.0.2.7", Server: "192.0.2.7", Port: 443, User: "global@vsphere.local", Password: `global "secret"`,
				InsecureFlag: true, SOAPRoundtripCount: 3,
			},
			{
				Tenant: "vc-west.example", Server: "vc-west.example", Port: 8443, User: "west@vsphere.local", Password: "west",
				CAFile: "/etc/ca.crt", Datacenters: []string{"dc1", "/folder/dc2"}, SOAPRoundtripCount: 3,
			},
		},
		Categories:    []string{"k8s-region", "k8s-zone", "k8s-rack"},
		Labels:        map[string]string{"k8s-zone": "topology.kubernetes.io/zone"},
		SnapshotLimit: 10, Page: 500,
		Warnings: []string{
			"csi-vsphere.conf:11: [Global] csi-auth-check-intervalinmin: has no effect: permissions are not checked in advance",
			`csi-vsphere.conf:19: [VirtualCenter "vc-west.example"] targetvSANFileShareClusters: has no effect: this driver has no file volumes`,
			"csi-vsphere.conf:30: [Snapshot] granular-max-snapshots-per-block-volume-vsan: has no effect: the global limit is for every kind of datastore",
			`csi-vsphere.conf:31: [NetPermissions "a"]: has no effect: this driver has no file volumes`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const minimal = "[Global]\ncluster-id = c\n[VirtualCenter \"vc\"]\nuser = u@d\npassword = p\n"

func TestCSIDefaults(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		reading config.ReadOptions
		check   func(*config.Config) bool
	}{
		"minimal": {minimal, config.ReadOptions{}, func(c *config.Config) bool {
			return c.SnapshotLimit == 3 && c.Page == 1000 && c.VCenters[0].Port == 443
		}},
		"the caller's cluster id":  {strings.Replace(minimal, "cluster-id = c", "cluster-id = \"\"", 1), config.ReadOptions{Format: config.CSI, ClusterID: "uid"}, func(c *config.Config) bool { return c.ClusterID == "uid" }},
		"region and zone":          {minimal + "[Labels]\nzone = z\nregion = r\n", config.ReadOptions{}, func(c *config.Config) bool { return cmp.Equal(c.Categories, []string{"r", "z"}) }},
		"a larger page than CNS's": {strings.Replace(minimal, "cluster-id = c", "cluster-id = c\nquery-limit = 10000", 1), config.ReadOptions{}, func(c *config.Config) bool { return c.Page == 1000 }},
		"a user without its domain": {strings.Replace(minimal, "u@d", "root", 1), config.ReadOptions{}, func(c *config.Config) bool {
			return len(c.Warnings) == 1 && strings.Contains(c.Warnings[0], "has no domain")
		}},
		"IPv6": {strings.Replace(minimal, `"vc"`, `"[2001:db8::1]"`, 1), config.ReadOptions{}, func(c *config.Config) bool { return c.VCenters[0].Server == "2001:db8::1" }},
	} {
		cfg, err := config.Load("driver.conf", []byte(tc.text), tc.reading)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !tc.check(cfg) || cfg.Form != config.CSI {
			t.Errorf("%s: %+v", name, cfg)
		}
	}
}

// Every error has its line and a suggestion.
func TestCSIMistakes(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"unknown key":             {"[Global]\nclusterid = c\n", "f:2: [Global] clusterid: unknown key, did you mean cluster-id?"},
		"misspelled key":          {"[VirtualCenter \"vc\"]\npasword = c\n", `f:2: [VirtualCenter "vc"] pasword: unknown key, did you mean password?`},
		"key of another":          {"[Labels]\ncluster-id = c\n", "f:2: [Labels] cluster-id: unknown key, did you mean [Global] cluster-id?"},
		"unknown section":         {"[Labls]\n", "f:1: [Labls]: unknown section, did you mean [Labels]?"},
		"no second name":          {"[VirtualCenter]\n", `f:1: [VirtualCenter]: this section has a second name in quotes: [VirtualCenter "NAME"]`},
		"second name":             {"[Global \"x\"]\n", `f:1: [Global "x"]: this section has no second name`},
		"twice":                   {"[Global]\nuser = a@b\nUser = c@d\n", "f:3: [Global] User: is already set in line 2"},
		"no number":               {"[Global]\nport = many\n[VirtualCenter \"vc\"]\n", `f:2: [Global] port: must be a whole number, not "many"`},
		"out of range":            {"[Snapshot]\nglobal-max-snapshots-per-block-volume = 33\n", "f:2: [Snapshot] global-max-snapshots-per-block-volume: 33 is not from 1 to 32"},
		"no truth value":          {"[VirtualCenter \"vc\"]\ninsecure-flag = maybe\n", `f:2: [VirtualCenter "vc"] insecure-flag: must be true or false, not "maybe"`},
		"no value":                {"[Global]\ncluster-id\n", "f:2: [Global] cluster-id: has no value"},
		"long cluster id":         {"[Global]\ncluster-id = " + strings.Repeat("x", 65) + "\n", "f:2: [Global] cluster-id: is longer than 64 characters"},
		"no cluster id":           {"[VirtualCenter \"vc\"]\n", "f: cluster-id is missing, and no default is given, write one under [Global]"},
		"no credentials":          {"[VirtualCenter \"vc\"]\nuser = u@d\n", `f:1: [VirtualCenter "vc"]: credentials are missing: user and password are needed`},
		"no vCenter":              {"[Global]\ncluster-id = c\n", `f: no vCenter is configured, write a section [VirtualCenter "HOST"]`},
		"warnings and no vCenter": {"[Global]\ncluster-id = c\n[NetPermissions \"a\"]\n", `f: no vCenter is configured, write a section [VirtualCenter "HOST"]`},
		"no host":                 {"[VirtualCenter \"https://vc\"]\n", `f:1: [VirtualCenter "https://vc"]: "https://vc": must be a host name or address without scheme, port or path`},
		"host and port":           {"[VirtualCenter \"vc:8443\"]\n", `f:1: [VirtualCenter "vc:8443"]: "vc:8443": must be a host name or address without scheme, port or path, write vc and port 8443`},
		"one host twice":          {"[VirtualCenter \"VC\"]\n[VirtualCenter \"vc\"]\n", `f:2: [VirtualCenter "vc"]: this host is also that of [VirtualCenter "VC"]`},
		"thumbprint":              {"[VirtualCenter \"vc\"]\nthumbprint = abc\n", `f:2: [VirtualCenter "vc"] thumbprint: "abc": must be a SHA-1 or SHA-256 fingerprint with colons`},
		"zone alone":              {"[Labels]\nzone = z\n", "f:2: [Labels] zone: set both region and zone"},
		"zone beside":             {"[Labels]\nzone = z\nregion = r\ntopology-categories = a\n", "f:3: [Labels] region: is set together with topology-categories, which replaces it, remove region and zone"},
		"category twice":          {"[Labels]\ntopology-categories = a,b,a\n", `f:2: [Labels] topology-categories: "a" is listed twice`},
		"categories":              {"[Labels]\ntopology-categories = a,b,c,d,e,f\n", "f:2: [Labels] topology-categories: 6 categories, at most 5 are allowed"},
		"foreign category":        {"[Labels]\ntopology-categories = k8s-zone\n[TopologyCategory \"k8s-zon\"]\nlabel = a/b\n", `f:4: [TopologyCategory "k8s-zon"] label: the category is not among [Labels] topology-categories, did you mean "k8s-zone"?`},
		"no label":                {"[Labels]\ntopology-categories = a\n[TopologyCategory \"a\"]\nlabel = b\n", `f:4: [TopologyCategory "a"] label: "b" is not the key of a label like topology.kubernetes.io/zone`},
		"not text":                {"[Global]\xff", "f: file is not UTF-8 text"},
		"empty":                   {"", "f: file is empty"},
		"before any section":      {"user = a\n", "f:1: user is before the first section"},
	} {
		_, err := config.Load("f", []byte(tc.text), config.ReadOptions{Format: config.CSI})
		if err == nil || !strings.Contains("\n"+err.Error()+"\n", "\n"+tc.want+"\n") {
			t.Errorf("%s:\n got  %v\n want %s", name, err, tc.want)
		}
	}
}

// All errors of a file are reported at once, in order.
func TestCSIAllMistakes(t *testing.T) {
	_, err := config.Load("f", []byte("[Global]\nclusterid = x\nport = x\n[Lables]\n[VirtualCenter \"vc\"]\nuser = u@d\npassword = p\n"), config.ReadOptions{Format: config.CSI, ClusterID: "c"})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v", err)
	}
}
