package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "rewrite golden files")

// wildDiffers are the files of testdata/wild that ours reads otherwise than upstream's provider, each with a cell of the table
// of differences in docs/provider.md that says so.
func wildDiffers() map[string]string {
	const own = "a vCenter's `insecureFlag: false` is overridden by the global `true`"
	return map[string]string{
		"chart-ca-file.yaml":     "unknown keys in `vsphere.conf` are ignored",
		"documented.ini":         "`soap-roundtrip-count = \"\"` in INI makes the file unreadable",
		"kops.ini":               "`[Global] datacenter` of the in-tree provider is ignored",
		"kubespray-old-form.ini": "`[Global] datacenter` of the in-tree provider is ignored",
		"rke1-old-form.ini":      "`[Global] datacenter` of the in-tree provider is ignored",
		"rke1-port-zero.ini":     "`port = \"0\"` in INI is port 0",
		"sample.ini":             own,
	}
}

// wildReading is what test/readers records of upstream's reader.
type wildReading struct {
	Error        string
	VCenters     map[string]wildVCenter
	Region, Zone string
	Nodes        struct {
		InternalSubnets, ExternalSubnets, InternalVMNetwork, ExternalVMNetwork, ExcludeInternalSubnets, ExcludeExternalSubnets string
	}
}

type wildVCenter struct {
	Server, Port, User, Password, Secret, Directory, CAFile, Thumbprint string
	Insecure                                                            bool
	Roundtrips                                                          int
	Datacenters, IPFamilies                                             []string
}

// readingOf returns a configuration in the form of upstream.json.
func readingOf(cfg *Config) wildReading {
	r := wildReading{VCenters: map[string]wildVCenter{}, Region: cfg.Labels.Region, Zone: cfg.Labels.Zone}
	for _, vc := range cfg.VCenters {
		v := wildVCenter{
			Server: vc.Server, Port: fmt.Sprint(vc.Port), User: vc.User, Password: vc.Password, Directory: vc.SecretsDirectory,
			CAFile: vc.CAFile, Thumbprint: vc.Thumbprint, Insecure: vc.InsecureFlag, Roundtrips: vc.SOAPRoundtripCount,
		}
		for _, dc := range vc.Datacenters {
			v.Datacenters = append(v.Datacenters, splitList(dc)...) // as the inventory does where none has that name
		}
		if vc.Secret != (SecretRef{}) {
			v.Secret = vc.Secret.Namespace + "/" + vc.Secret.Name
		}
		for _, f := range vc.IPFamilies {
			v.IPFamilies = append(v.IPFamilies, string(f))
		}
		r.VCenters[vc.Tenant] = v
	}
	n, is := cfg.Nodes, &r.Nodes
	is.InternalSubnets, is.ExternalSubnets = list(n.InternalSubnets), list(n.ExternalSubnets)
	is.ExcludeInternalSubnets, is.ExcludeExternalSubnets = list(n.ExcludeInternalSubnets), list(n.ExcludeExternalSubnets)
	is.InternalVMNetwork, is.ExternalVMNetwork = n.InternalVMNetwork, n.ExternalVMNetwork
	return r
}

// Every file of the corpus, which has the shape of what a generator writes, is read to what upstream's releases make of it, or
// the table of differences says otherwise. Each file names its generator in its first line.
// (findings A1, A2, A3, A11; OCPBUGS-54434, rancher/rancher#33574, kubernetes/cloud-provider-vsphere#233)
func TestWild(t *testing.T) {
	text, err := os.ReadFile("testdata/wild/upstream.json")
	if err != nil {
		t.Fatal(err)
	}
	upstream := map[string]wildReading{}
	if err := json.Unmarshal(text, &upstream); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/provider.md")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("testdata/wild/*.[iy]*")
	if err != nil || len(paths) != len(upstream) {
		t.Fatalf("%d files, and upstream.json has %d: make readers, %v", len(paths), len(upstream), err)
	}
	var all strings.Builder
	for _, path := range paths {
		name := filepath.Base(path)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cfg, problems := Check(name, data)
		fmt.Fprintf(&all, "=== %s\n", name)
		for _, p := range problems {
			fmt.Fprintf(&all, "%s%s\n", map[bool]string{true: "warning: "}[p.Warning], p)
		}
		row, differs := wildDiffers()[name]
		t.Run(name, func(t *testing.T) {
			if differs && !strings.Contains(string(page), "| "+row+" |") {
				t.Errorf("docs/provider.md has no row %q", row)
			}
			if !strings.HasPrefix(string(data), "# ") {
				t.Error("the first line does not name the generator")
			}
			want, got := upstream[name], wildReading{}
			if cfg != nil {
				got = readingOf(cfg)
			}
			// Upstream reads the global Secret when user and password of a vCenter are refused.
			for tenant, vc := range want.VCenters {
				if vc.User != "" && vc.Password != "" {
					vc.Secret = ""
					want.VCenters[tenant] = vc
				}
			}
			diff := cmp.Diff(want, got, cmpopts.EquateEmpty())
			if (diff != "") != differs {
				t.Errorf("is another difference than the table has: (-upstream +ours)\n%s", diff)
			}
		})
		if cfg != nil {
			text, err := cfg.Masked().YAML()
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	sameAsGolden(t, "testdata/wild/ours.golden", all.String())
	for name := range wildDiffers() {
		if !slices.Contains(paths, "testdata/wild/"+name) {
			t.Errorf("%s is not in the corpus", name)
		}
	}
}

// What people posted, and files of another kind that are given as a vsphere.conf: each is read as it was meant, or has a message
// that says what is wrong with it. The first line of a file has what it shows, and
// where it was posted.
func TestReported(t *testing.T) {
	paths, err := filepath.Glob("testdata/reported/*.[iy]*")
	if err != nil || len(paths) < 25 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	var all strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cfg, problems := Check(filepath.Base(path), data)
		fmt.Fprintf(&all, "=== %s\n", filepath.Base(path))
		for _, p := range problems {
			fmt.Fprintf(&all, "%s%s\n", map[bool]string{true: "warning: "}[p.Warning], p)
		}
		if cfg == nil {
			continue
		}
		for _, vc := range cfg.VCenters {
			fmt.Fprintf(&all, "%s: %q at %s:%d, password %q, datacenters %q\n", vc.Tenant, vc.User, vc.Server, vc.Port, vc.Password, vc.Datacenters)
		}
	}
	sameAsGolden(t, "testdata/reported/ours.golden", all.String())
}

func sameAsGolden(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}
