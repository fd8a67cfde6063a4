package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// inventory returns the names in the default sandbox of "up", by kind.
func inventory() (map[string]map[string]bool, error) {
	t, err := topology.LoadFS(scenarios.FS(), scenarios.Default+".yaml")
	if err != nil {
		return nil, err
	}
	names := map[string]map[string]bool{"vCenter": {}, "VM": {}, "host": {}}
	for _, v := range t.Spec.VCenters {
		names["vCenter"][v.Name] = true
		for _, dc := range v.Datacenters {
			for _, h := range dc.AllHosts() {
				names["host"][h.Name] = true
			}
			for _, vm := range dc.VMs {
				names["VM"][vm.Name], names["VM"][v.Name+"/"+vm.Name] = true, true
			}
		}
	}
	return names, nil
}

// booted reports a name in an example that the default sandbox does not have: the first commands of a new user must work.
func booted(cmd *cobra.Command, args []string) error {
	all, err := inventory()
	if err != nil {
		return err
	}
	check := func(kind string, names ...string) {
		for _, name := range names {
			if name != "" && !all[kind][name] {
				err = errors.Join(err, fmt.Errorf("the default scenario has no %s %q", kind, name))
			}
		}
	}
	flag := func(name string) string {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return f.Value.String()
		}
		return ""
	}
	path := strings.TrimPrefix(cmd.CommandPath(), "vsphere-sandbox ")
	parent, _, _ := strings.Cut(path, " ")
	switch {
	case parent == "vm", parent == "taint", path == "explain vm", path == "explain node", path == "get vms", path == "get nodes":
		check("VM", args...)
	case path == "fault inject" && strings.HasPrefix(args[0], "vm."):
		check("VM", args[1:]...)
	case path == "fault inject" && strings.HasPrefix(args[0], "vcenter."):
		check("vCenter", args[1:]...)
	case path == "vcenter down", path == "vcenter hang", path == "vcenter slow":
		check("vCenter", args...)
	case path == "vcenter save" && len(args) > 1:
		check("vCenter", args[0])
	case path == "logs" && len(args) > 0:
		if name, ok := strings.CutPrefix(args[0], "node/"); ok {
			check("VM", name)
		}
	case path == "govc" || path == "kubectl":
		for i, word := range args {
			if i > 0 && (args[i-1] == "vm.info" || args[i-1] == "node") && !strings.HasPrefix(word, "-") {
				check("VM", word)
			}
		}
	case path == "wait":
		for _, m := range regexp.MustCompile(`node/([a-z0-9-]+)`).FindAllStringSubmatch(flag("for"), -1) {
			check("VM", m[1])
		}
	}
	if path == "vm move" {
		check("host", flag("to"))
	}
	if path == "events" {
		check("VM", flag("object"))
	}
	if parent != "up" && parent != "doctor" {
		check("vCenter", flag("vcenter"))
	}
	return err
}

// The test of names knows what is there, and refuses what is not.
func TestInventory(t *testing.T) {
	all, err := inventory()
	if err != nil {
		t.Fatal(err)
	}
	for kind, name := range map[string]string{"vCenter": "us", "VM": "worker-west-1", "host": "esx-west-2"} {
		if !all[kind][name] {
			t.Errorf("there is no %s %s in %v", kind, name, all[kind])
		}
	}
}
