package readers

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	upstream "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/config"
	"k8s.io/klog/v2"
)

var update = flag.Bool("update", false, "rewrite upstream.json")

const wild = "../../pkg/provider/config/testdata/wild"

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	for _, pair := range os.Environ() { // upstream's reader takes values from there
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "VSPHERE_") || strings.HasPrefix(name, "VCENTER_") {
			if err := os.Unsetenv(name); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

// reading is what a reader makes of a file.
type reading struct {
	Error    string             `json:"error,omitempty"`
	VCenters map[string]vcenter `json:"vcenters,omitempty"`
	Region   string             `json:"region,omitempty"`
	Zone     string             `json:"zone,omitempty"`
	Nodes    nodes              `json:"nodes,omitzero"`
}

// nodes has the fields of upstream's type.
type nodes struct {
	InternalNetworkSubnetCIDR        string `json:"internalSubnets,omitempty"`
	ExternalNetworkSubnetCIDR        string `json:"externalSubnets,omitempty"`
	InternalVMNetworkName            string `json:"internalVMNetwork,omitempty"`
	ExternalVMNetworkName            string `json:"externalVMNetwork,omitempty"`
	ExcludeInternalNetworkSubnetCIDR string `json:"excludeInternalSubnets,omitempty"`
	ExcludeExternalNetworkSubnetCIDR string `json:"excludeExternalSubnets,omitempty"`
}

type vcenter struct {
	Server   string `json:"server"`
	Port     string `json:"port"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	// Secret is NAMESPACE/NAME. Upstream reads it when a login with User and Password was refused.
	Secret      string   `json:"secret,omitempty"`
	Directory   string   `json:"directory,omitempty"`
	Insecure    bool     `json:"insecure,omitempty"`
	CAFile      string   `json:"caFile,omitempty"`
	Thumbprint  string   `json:"thumbprint,omitempty"`
	Datacenters []string `json:"datacenters,omitempty"`
	Roundtrips  uint     `json:"roundtrips"`
	IPFamilies  []string `json:"ipFamilies"`
}

// readUpstream runs upstream's reader as its cloud controller manager does.
func readUpstream(data []byte) reading {
	cfg, err := upstream.ReadCPIConfig(data)
	if err != nil {
		return reading{Error: err.Error()}
	}
	r := reading{VCenters: map[string]vcenter{}, Region: cfg.Labels.Region, Zone: cfg.Labels.Zone, Nodes: nodes(cfg.Nodes)}
	for _, vc := range cfg.VirtualCenter {
		v := vcenter{
			Server: vc.VCenterIP, Port: vc.VCenterPort, User: vc.User, Password: vc.Password, Insecure: vc.InsecureFlag, CAFile: vc.CAFile,
			Thumbprint: vc.Thumbprint, Roundtrips: vc.RoundTripperCount, IPFamilies: vc.IPFamilyPriority,
		}
		for dc := range strings.SplitSeq(vc.Datacenters, ",") { // as pkg/common/connectionmanager does
			if dc = strings.TrimSpace(dc); dc != "" {
				v.Datacenters = append(v.Datacenters, dc)
			}
		}
		switch {
		case vc.SecretName != "" && vc.SecretNamespace != "":
			v.Secret = vc.SecretNamespace + "/" + vc.SecretName
		case cfg.Global.SecretsDirectory != "":
			v.Directory = cfg.Global.SecretsDirectory
		case cfg.Global.SecretName != "":
			v.Secret = cfg.Global.SecretNamespace + "/" + cfg.Global.SecretName
		}
		r.VCenters[vc.TenantRef] = v
	}
	return r
}

// Both releases of upstream read every file as upstream.json has it.
func TestUpstreamReads(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(wild, "*.[iy]*"))
	if err != nil || len(paths) < 40 {
		t.Fatalf("a corpus of %d files, %v", len(paths), err)
	}
	got := map[string]reading{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(path)] = readUpstream(data)
	}
	golden := filepath.Join(wild, "upstream.json")
	if *update {
		text, err := json.MarshalIndent(got, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]reading{}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-upstream.json +now):\n%s", diff)
	}
}
