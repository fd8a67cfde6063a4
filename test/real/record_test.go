package real

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bound is what binds a node to its VM, and what it is labeled with.
type bound struct{ ProviderID, SystemUUID, Region, Zone string }

// nodes are those of a sandbox, by name.
func (h *home) nodes(name string) map[string]bound {
	h.T.Helper()
	var list struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Spec   struct{ ProviderID string }
			Status struct{ NodeInfo struct{ SystemUUID string } }
		}
	}
	out := h.Must("--name", name, "kubectl", "get", "nodes", "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		h.T.Fatalf("kubectl: %v\n%s", err, out)
	}
	all := map[string]bound{}
	for _, n := range list.Items {
		all[n.Metadata.Name] = bound{
			n.Spec.ProviderID, strings.ToLower(n.Status.NodeInfo.SystemUUID),
			n.Metadata.Labels["topology.kubernetes.io/region"], n.Metadata.Labels["topology.kubernetes.io/zone"],
		}
	}
	return all
}

// expected are the nodes that the stand-in's VMs are to become, by what govc says of them.
func expected(s *standIn) map[string]bound {
	all := map[string]bound{}
	for name, m := range s.machines() {
		zone := "far-1"
		if name == "far-3" {
			zone = "far-2"
		}
		uuid := strings.ToLower(m.Summary.Config.Uuid)
		all[name] = bound{"vsphere://" + uuid, uuid, "far", zone}
	}
	return all
}

// What is recorded boots to nodes with the UUIDs, providerIDs and labels of the real VMs, offline, and those match the real
// VMs as the nodes of a real cluster would.
func TestRecordReplay(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		conf, want := s.config(h), expected(s)
		if len(want) != 3 {
			t.Fatalf("%d VMs with a host name", len(want))
		}
		h.Must("record", "--vcenter-config", conf, "--folder", "k8s", "-f", "again.yaml")
		if info, err := os.Stat(filepath.Join(h.Tmp, "again.yaml")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		h.Must("--name", "again", "up", "again.yaml", "--detach", "--csi", "off")
		if diff := cmp.Diff(want, h.nodes("again")); diff != "" {
			t.Error(diff)
		}
		kubeconfig := h.File("kubeconfig", h.Must("--name", "again", "get", "kubeconfig"))
		h.diagnosed(nil, "--vcenter-config", conf, "--folder", "k8s", "--kubeconfig", kubeconfig)
		// A node whose VM is not chosen has none.
		vms := s.machines()
		all := h.diagnosed([]string{"nodes error"}, "--vcenter-config", conf, "--vm", vms["far-1"].Name, "--vm", vms["far-2"].Name, "--kubeconfig", kubeconfig)
		saying(t, all, "nodes", "1 of 3 nodes", "far-3")
		h.Must("--name", "again", "down")
		h.nothingLeft()
	})
}

// The same labels by way of a file as by way of the vCenter itself.
func TestRecordAsLive(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		h.Must("--name", "live", "up", "--vcenter-config", s.config(h), "--folder", "k8s", "--detach", "--csi", "off")
		if diff := cmp.Diff(expected(s), h.nodes("live")); diff != "" {
			t.Error(diff)
		}
		h.Must("--name", "live", "down")
	})
}

// Nothing of the vCenter's is in an anonymous recording; two of them agree by their map; and they boot.
func TestRecordAnonymous(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		record := func() string {
			r := h.Try("record", "--vcenter-config", s.config(h), "--folder", "k8s", "--anonymise", "--pseudonyms", "map.json")
			if r.Code != 0 {
				t.Fatalf("exit status %d\n%s", r.Code, r.Both())
			}
			reported := strings.ToLower(r.Both())
			for _, secret := range []string{"far", "dc0", "k8s/", "c0_h", "c0-h", "team", "blue", "localds"} {
				if strings.Contains(reported, secret) {
					t.Errorf("the recording tells of %q:\n%s", secret, r.Both())
				}
			}
			for _, m := range s.machines() {
				for _, secret := range []string{m.Summary.Config.Uuid, m.Guest.IPAddress, m.Name} {
					if strings.Contains(reported, strings.ToLower(secret)) {
						t.Errorf("the recording tells of %q", secret)
					}
				}
			}
			return r.Out
		}
		first := record()
		if diff := cmp.Diff(first, record()); diff != "" {
			t.Error(diff)
		}
		if info, err := os.Stat(filepath.Join(h.Tmp, "map.json")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		h.Must("--name", "nobody", "up", h.File("nobody.yaml", first), "--detach", "--csi", "off")
		zones := map[string]int{}
		for _, n := range h.nodes("nobody") {
			zones[n.Region+"/"+n.Zone]++
		}
		// The zones have other names, and as many nodes as before.
		if sizes := slices.Sorted(maps.Values(zones)); !slices.Equal(sizes, []int{1, 2}) {
			t.Errorf("zones %v", zones)
		}
		h.Must("--name", "nobody", "down")
	})
}

// An existing file is kept, unless replacing it was requested.
func TestRecordFile(t *testing.T) {
	t.Parallel()
	s, h := stock(t), newHome(t)
	conf := s.config(h)
	kept := h.File("kept.yaml", "mine")
	h.refused(2, []string{"kept.yaml already exists", "--force"}, "record", "--vcenter-config", conf, "-f", kept)
	if text, err := os.ReadFile(kept); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	// The stock simulator is an old one, and that is said.
	h.Try("record", "--vcenter-config", conf, "-f", kept, "--force", "-o", "json").Wants(t, 0, "API 6.5: it has no cloud native storage", "upgrade to 7.0")
	var topology struct{ Kind string }
	if text, err := os.ReadFile(kept); err != nil || json.Unmarshal(text, &topology) != nil || topology.Kind != "Topology" {
		t.Errorf("%s, %v", text, err)
	}
	if found, _ := filepath.Glob(filepath.Join(h.Dir, ".kept*")); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
}
