package record

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// rounds is how often the topology is asked whether it takes what was recorded: an error may hide another.
const rounds = 4

// finish writes the topology, with what it does not take left out, and says so of each.
func (r *recorder) finish() (*Recording, error) {
	for range rounds {
		file, err := topology.Marshal(r.top)
		if err != nil {
			return nil, err
		}
		loaded, err := topology.Load("recording", file)
		if err == nil {
			r.compare(loaded)
			return &Recording{File: file, Topology: loaded, Warnings: r.warnings}, nil
		}
		if !r.relent(err) {
			return nil, fmt.Errorf("record: %w", err)
		}
		r.top.Spec.AllowDuplicate = duplicates(r.top)
	}
	return nil, errors.New("record: the topology takes less and less of what is recorded")
}

// leaf is a field that can be left out, as messages call it.
var leaf = regexp.MustCompile(`^spec\.vcenters\[(\d+)\]\.(?:datacenters\[(\d+)\]\.vms\[(\d+)\]\.)?(\w+)(?:\[(\d+)\]\.(\w+))?`)

// relent leaves out the fields that the topology complains of. It is false where one of them has to be there.
func (r *recorder) relent(err error) bool {
	var all topology.Errors
	if !errors.As(err, &all) {
		return false
	}
	dropped := false
	for _, e := range all {
		m := leaf.FindStringSubmatch(e.Path)
		if m == nil {
			return false
		}
		v := &r.top.Spec.VCenters[number(m[1])]
		what := "vCenter " + v.Name
		var ok bool
		if m[3] == "" {
			ok = dropOfVCenter(v, m[4])
		} else {
			vm := &v.Datacenters[number(m[2])].VMs[number(m[3])]
			what = "VM " + vm.Name
			ok = dropOfVM(vm, m[4], m[5], m[6])
		}
		if !ok {
			return false
		}
		dropped = true
		r.warn("%s: %s is left out: it %s", what, m[4], e.Message)
	}
	return dropped
}

func dropOfVCenter(v *topology.VCenter, field string) bool {
	switch field {
	case "version":
		v.Version = ""
	case "instanceUUID":
		v.InstanceUUID = ""
	default:
		return false
	}
	return true
}

func dropOfVM(vm *topology.VM, field, item, inner string) bool {
	switch {
	case field == "hardwareVersion":
		vm.HardwareVersion = ""
	case field == "guestID":
		vm.GuestID = ""
	case field == "hostname":
		vm.Hostname, vm.Role = "", "" // what has no such name cannot be a node
	case field == "uuid":
		vm.UUID = ""
	case field == "instanceUUID":
		vm.InstanceUUID = ""
	case field == "cpus":
		vm.CPUs = 0
	case field == "memory":
		vm.Memory = 0
	case field == "nics" && item != "" && inner == "mac":
		vm.NICs[number(item)].MAC = ""
	case field == "nics" && item != "" && inner == "addresses":
		vm.NICs[number(item)].Addresses = nil
	default:
		return false
	}
	return true
}

// number reads digits.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// compare tells of VMs that the recording has in another region or zone than the vCenter has.
func (r *recorder) compare(loaded *topology.Topology) {
	i := 0
	for vm := range loaded.AllVMs() {
		if i < len(r.zones) {
			got, want := loaded.Place(vm), r.zones[i]
			if want != (topology.Place{}) && got != want {
				r.warn("VM %s is in %s/%s, and in %s/%s in the recording: the tags are where a topology has none",
					vm.VM.Name, want.Region, want.Zone, got.Region, got.Zone)
			}
		}
		i++
	}
}
