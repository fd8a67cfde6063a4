package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
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
		SnapshotLimit: 10, NetPermissions: []volume.NetPermission{{IPs: "*", Access: "READ_WRITE"}}, Page: 500,
		Warnings: []string{
			"csi-vsphere.conf:11: [Global] csi-auth-check-intervalinmin: has no effect: permissions are not checked in advance",
			`csi-vsphere.conf:19: [VirtualCenter "vc-west.example"] targetvSANFileShareClusters: has no effect: file volumes are on any vSAN datastore with a file service`,
			"csi-vsphere.conf:30: [Snapshot] granular-max-snapshots-per-block-volume-vsan: has no effect: the global limit is for every kind of datastore",
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
		"zeros": {strings.Replace(minimal, "cluster-id = c", "cluster-id = c\nquery-limit = 0\nlist-volume-threshold = 0", 1) + "[Snapshot]\nglobal-max-snapshots-per-block-volume = 0\n", config.ReadOptions{}, func(c *config.Config) bool {
			return c.SnapshotLimit == 3 && c.Page == 1000
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
		"six vCenters":            {sixVCenters(), "f: 6 vCenters, at most 5 are allowed"},
		"two without topology":    {minimal + "[VirtualCenter \"vc2\"]\nuser = u@d\npassword = p\n", "f: several vCenters, and no topology-categories under [Labels]: no volume is reachable from every node"},
		"two with half of one":    {minimal + "[VirtualCenter \"vc2\"]\nuser = u@d\npassword = p\n[Labels]\nzone = z\n", "f: several vCenters, and no topology-categories under [Labels]: no volume is reachable from every node"},
		"foreign domain":          {minimal + "[Labels]\ntopology-categories = a\n[TopologyCategory \"a\"]\nlabel = example.com/zone\n", `f:9: [TopologyCategory "a"] label: "example.com/zone": the domain of the label must be one of topology.kubernetes.io, failure-domain.beta.kubernetes.io, topology.csi.vmware.com`},
		"no second name":          {"[VirtualCenter]\n", `f:1: [VirtualCenter]: this section has a second name in quotes: [VirtualCenter "NAME"]`},
		"second name":             {"[Global \"x\"]\n", `f:1: [Global "x"]: this section has no second name`},
		"no number":               {"[Global]\nport = many\n[VirtualCenter \"vc\"]\n", `f:2: [Global] port: must be a whole number, not "many"`},
		"out of range":            {"[Snapshot]\nglobal-max-snapshots-per-block-volume = 33\n", "f:2: [Snapshot] global-max-snapshots-per-block-volume: 33 is not from 1 to 32"},
		"no truth value":          {"[VirtualCenter \"vc\"]\ninsecure-flag = maybe\n", `f:2: [VirtualCenter "vc"] insecure-flag: must be true or false, not "maybe"`},
		"no value":                {"[Global]\ncluster-id\n", "f:2: [Global] cluster-id: has no value"},
		"long cluster id":         {"[Global]\ncluster-id = " + strings.Repeat("x", 65) + "\n", "f:2: [Global] cluster-id: is longer than 64 characters"},
		"no cluster id":           {"[VirtualCenter \"vc\"]\n", "f: cluster-id is missing, and no default is given, write one under [Global]"},
		"no credentials":          {"[VirtualCenter \"vc\"]\nuser = u@d\n", `f:1: [VirtualCenter "vc"]: credentials are missing: user and password are needed`},
		"no vCenter":              {"[Global]\ncluster-id = c\n", `f: no vCenter is configured, write a section [VirtualCenter "HOST"]`},
		"warnings and no vCenter": {"[Global]\ncluster-id = c\n[NetPermissions \"a\"]\n", `f: no vCenter is configured, write a section [VirtualCenter "HOST"]`},
		"no host":                 {"[VirtualCenter \"https://vc\"]\n", `f:1: [VirtualCenter "https://vc"]: "https://vc": must be a host name or address without scheme, port or path, write vc`},
		"host and port":           {"[VirtualCenter \"vc:8443\"]\n", `f:1: [VirtualCenter "vc:8443"]: "vc:8443": must be a host name or address without scheme, port or path, write vc and port 8443`},
		"one host twice":          {"[VirtualCenter \"VC\"]\n[VirtualCenter \"vc\"]\n", `f:2: [VirtualCenter "vc"]: this host is also that of [VirtualCenter "VC"]`},
		"thumbprint":              {"[VirtualCenter \"vc\"]\nthumbprint = abc\n", `f:2: [VirtualCenter "vc"] thumbprint: "abc": must be a SHA-1 or SHA-256 fingerprint with colons`},
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

func sixVCenters() string {
	text := "[Global]\ncluster-id = c\nuser = u@d\npassword = p\n[Labels]\ntopology-categories = a\n"
	for i := range 6 {
		text += fmt.Sprintf("[VirtualCenter \"vc%d\"]\n", i)
	}
	return text
}

// What upstream's driver reads and ignores is a warning.
func TestCSIIgnored(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"unknown key":           {"[Global]\nclusterid = c\n", "f:7: [Global] clusterid: has no effect: unknown key, did you mean cluster-id?"},
		"key of another":        {"[Labels]\ncluster-id = c\n", "f:7: [Labels] cluster-id: has no effect: unknown key, did you mean [Global] cluster-id?"},
		"unknown section":       {"[Labls]\n", "f:6: [Labls]: has no effect: unknown section, did you mean [Labels]?"},
		"network of TKG":        {"[Network]\npublic-network = x\n", "f:6: [Network]: has no effect: this driver configures no networks"},
		"in-tree workspace":     {"[Workspace]\nserver = x\n", "f:6: [Workspace]: has no effect: it is a section of the in-tree provider's vsphere.conf"},
		"in-tree disk":          {"[Disk]\nscsicontrollertype = pvscsi\n", "f:6: [Disk]: has no effect: it is a section of the in-tree provider's vsphere.conf"},
		"protection of claims":  {"[Global]\ncnspvcprotection-cleanup-intervalinmin = 10\n", "f:7: [Global] cnspvcprotection-cleanup-intervalinmin: has no effect: this driver is not for Supervisor clusters"},
		"zone alone":            {"[Labels]\nzone = z\n", `f:7: [Labels] zone: has no effect, and upstream's nodes do not register: set both region and zone, or topology-categories = "z"`},
		"twice":                 {"[Global]\nquery-limit = 5\nQuery-Limit = 7\n", "f:7: [Global] query-limit: has no effect: is set again in line 8"},
		"comment in a password": {"[VirtualCenter \"vc\"]\npassword = ab#cd;ef\n", `f:7: [VirtualCenter "vc"] password: ends before the comment sign that follows, if it belongs to the value, write the whole value in "quotes"`},
	} {
		cfg, err := config.Load("f", []byte(minimal+tc.text), config.ReadOptions{Format: config.CSI})
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case !slices.Contains(cfg.Warnings, tc.want):
			t.Errorf("%s:\n got  %q\n want %q", name, cfg.Warnings, tc.want)
		case name == "twice" && cfg.Page != 7:
			t.Errorf("page of %d", cfg.Page)
		}
	}
}

// Environment variables are read as upstream's driver reads them: they complete the file, and a vCenter's own login remains.
func TestCSIEnvironment(t *testing.T) {
	const bare = "[Global]\ncluster-id = c\n[VirtualCenter \"vc\"]\n"
	for name, tc := range map[string]struct {
		text    string
		environ []string
		check   func(*config.Config) bool
	}{
		"credentials": {bare, []string{"VSPHERE_USER=e@d", "VSPHERE_PASSWORD=a=b"}, func(c *config.Config) bool {
			return c.VCenters[0].User == "e@d" && c.VCenters[0].Password == "a=b"
		}},
		"the vCenter's own login remains": {minimal, []string{"VSPHERE_USER=e@d", "VSPHERE_PASSWORD=x"}, func(c *config.Config) bool {
			return c.VCenters[0].User == "u@d" && c.VCenters[0].Password == "p"
		}},
		"global": {minimal, []string{
			"VSPHERE_VCENTER_PORT=8443", "VSPHERE_INSECURE=true", "VSPHERE_DATACENTER=dc", "VSPHERE_LABEL_REGION=r", "VSPHERE_LABEL_ZONE=z",
			"GLOBAL_MAX_SNAPSHOTS_PER_BLOCK_VOLUME=5", "VSPHERE_PASSWORD=",
		}, func(c *config.Config) bool {
			vc := c.VCenters[0]
			return vc.Port == 8443 && vc.InsecureFlag && cmp.Equal(vc.Datacenters, []string{"dc"}) && c.SnapshotLimit == 5 &&
				cmp.Equal(c.Categories, []string{"r", "z"}) && len(c.VCenters) == 1
		}},
		"a vCenter": {"[Global]\ncluster-id = c\n", []string{"VSPHERE_VCENTER=main", "VSPHERE_USER=e@d", "VSPHERE_PASSWORD=x"}, func(c *config.Config) bool {
			return len(c.VCenters) == 1 && c.VCenters[0].Server == "main"
		}},
		"vCenters": {minimal + "[Labels]\ntopology-categories = a\n", []string{
			"VSPHERE_VCENTER_1=vc", "VCENTER_1_PORT=444", "VSPHERE_VCENTER_2=other", "VCENTER_2_USERNAME=o@d", "VCENTER_2_PASSWORD=o",
		}, func(c *config.Config) bool {
			return len(c.VCenters) == 2 && c.VCenters[0].User == "o@d" && c.VCenters[1].Port == 444 && c.VCenters[1].User == "u@d"
		}},
	} {
		cfg, err := config.Load("f", []byte(tc.text), config.ReadOptions{Format: config.CSI, Environment: tc.environ})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !tc.check(cfg) {
			t.Errorf("%s: %+v", name, cfg)
		}
	}
	_, err := config.Load("f", []byte(minimal), config.ReadOptions{Format: config.CSI, Environment: []string{"VSPHERE_VCENTER_PORT=many"}})
	if want := `environment: VSPHERE_VCENTER_PORT: must be a whole number, not "many"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// A password that INI cannot have in that form is one error, not also a missing login.
func TestCSIUnreadableLogin(t *testing.T) {
	_, err := config.Load("f", []byte("[Global]\ncluster-id = c\n[VirtualCenter \"vc\"]\nuser = u@d\npassword = \"a\\d\"\n"), config.ReadOptions{Format: config.CSI})
	if err == nil || strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
}

// All errors of a file are reported at once, in order.
func TestCSIAllMistakes(t *testing.T) {
	_, err := config.Load("f", []byte("[Global]\nquery-limit = x\nport = x\n[Snapshot \"x\"]\n[VirtualCenter \"vc\"]\nuser = u@d\npassword = p\n"), config.ReadOptions{Format: config.CSI, ClusterID: "c"})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v", err)
	}
}
