package kind

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

func TestOptionsAreChecked(t *testing.T) {
	for want, edit := range map[string]func(*Options){
		`sandbox name "Demo"`:                        func(o *Options) { o.Name = "Demo" },
		"has 34 characters; on kind the limit is 33": func(o *Options) { o.Name = strings.Repeat("a", 34) },
		"has to be an absolute path":                 func(o *Options) { o.Dir = "here" },
		"with a colon or a comma":                    func(o *Options) { o.Dir = "/a:b" },
		"no node image":                              func(o *Options) { o.Image = "" },
		"port 70000":                                 func(o *Options) { o.Port = 70000 },
		"speed 0":                                    func(o *Options) { o.Speed = 0 },
		`node "Worker-1": a node's name has to be`:   func(o *Options) { o.Nodes[0].Name = "Worker-1" },
		`node "worker-2": is given twice`:            func(o *Options) { o.Nodes[0].Name = "worker-2" },
		`UUID "x": want 32 hexadecimal digits`:       func(o *Options) { o.Nodes[0].UUID = "x" },
		"serial number":                              func(o *Options) { o.Nodes[0].Serial = "a\nb" },
		`directory "/a,b": has to be an absolute`:    func(o *Options) { o.Volumes = "/a,b" },
		"without a colon or a comma":                 func(o *Options) { o.Nodes[0].ByID = "disks" },
	} {
		opts := planned(t, "single")
		edit(&opts)
		if _, err := New(opts); !coded.Is(err, "usage") || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	long := planned(t, "single")
	long.Name = strings.Repeat("a", maxName)
	if c, err := New(long); err != nil || len(c.Container(c.ExtraControlPlane())) != 63 {
		t.Errorf("the longest name: %v", err)
	}
}

func TestSerial(t *testing.T) {
	for uuid, want := range map[string]string{
		"564d395e-d807-e18a-cb25-b79f65eb2b9f": "VMware-56 4d 39 5e d8 07 e1 8a-cb 25 b7 9f 65 eb 2b 9f",
		"564D395E-D807-E18A-CB25-B79F65EB2B9F": "VMware-56 4d 39 5e d8 07 e1 8a-cb 25 b7 9f 65 eb 2b 9f",
		"564d395ed807e18acb25b79f65eb2b9f":     "",
		"564d395e-d807-e18a-cb25-b79f65eb2bzz": "",
		"":                                     "",
	} {
		if got, err := Serial(uuid); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", uuid, got, err, want)
		}
	}
}

// Addresses for Services are in the part of the range that the API server does not allocate from, and are neither its own
// nor the DNS server's.
func TestServiceIP(t *testing.T) {
	for _, tc := range []struct {
		subnet string
		n      int
		want   string // "" for an error
	}{
		{"", 0, "10.96.0.255"},
		{"", 1, "10.96.0.254"},
		{"", 239, "10.96.0.16"},
		{"", 240, ""},
		{"", -1, ""},
		{"10.112.0.0/12", 0, "10.112.0.255"},
		{"fd00:10:96::/112,10.0.0.0/22", 0, "10.0.0.63"}, // 1024 addresses, of which a sixteenth
		{"10.0.0.16/28", 0, ""},
		{"10.0.0.0/24", 0, ""}, // 16 of them, all of which others may want
	} {
		opts := planned(t, "single")
		if tc.subnet != "" {
			opts.UserConfig = []byte(head + "networking: {ipFamily: dual, serviceSubnet: '" + tc.subnet + "'}\n")
		}
		c, err := New(opts)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.ServiceIP(tc.n)
		if (err == nil) != (tc.want != "") || err == nil && got.String() != tc.want {
			t.Errorf("%q, %d: %v, %v; want %q", tc.subnet, tc.n, got, err, tc.want)
		}
	}
}

func TestNames(t *testing.T) {
	c, err := New(planned(t, "zones-us-eu"))
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]string{
		"cp-1": "vsphere-sandbox-demo-control-plane", "worker-west-1": "vsphere-sandbox-demo-worker",
		"worker-east-1": "vsphere-sandbox-demo-worker2", "worker-eu-2": "vsphere-sandbox-demo-worker5", "nobody": "",
	} {
		if got := c.Container(node); got != want {
			t.Errorf("%s is %q, want %q", node, got, want)
		}
	}
	if c.ExtraControlPlane() != "" || c.ByID("worker-west-1") != "/state/demo/cluster/nodes/worker-west-1/by-id" || c.ByID("nobody") != "" {
		t.Errorf("spare %q, by-id %q", c.ExtraControlPlane(), c.ByID("worker-west-1"))
	}
}
