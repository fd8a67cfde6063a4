package apis

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vapi/namespace"
	vapi "github.com/vmware/govmomi/vapi/simulator"
)

const (
	namespacesPath = "/api/vcenter/namespaces/instances"
	classesPath    = "/api/vcenter/namespace-management/virtual-machine-classes"
)

// supervisor has the namespaces and classes of VMs of one vCenter. vcsim has one list of each for the process, without a lock.
type supervisor struct {
	mu         sync.Mutex
	namespaces map[string]*namespace.NamespacesInstanceInfo
	classes    map[string]*namespace.VirtualMachineClassInfo
}

func newSupervisor() *supervisor {
	return &supervisor{
		namespaces: map[string]*namespace.NamespacesInstanceInfo{}, classes: map[string]*namespace.VirtualMachineClassInfo{},
	}
}

// instances serves the namespaces. next registers VMs.
func (s *supervisor) instances(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name, action, _ := strings.Cut(strings.Trim(strings.TrimPrefix(r.URL.Path, namespacesPath), "/"), "/")
		if action != "" {
			next(w, r)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		found := s.namespaces[name]
		switch {
		case r.Method == http.MethodGet && name == "":
			all := make([]namespace.NamespacesInstanceSummary, 0, len(s.namespaces))
			for _, name := range slices.Sorted(maps.Keys(s.namespaces)) {
				n := s.namespaces[name]
				all = append(all, namespace.NamespacesInstanceSummary{
					ClusterId: n.ClusterId, Namespace: name, ConfigStatus: n.ConfigStatus, Description: n.Description, Stats: n.Stats,
				})
			}
			vapi.StatusOK(w, all)
		case r.Method == http.MethodPost && name == "":
			var spec namespace.NamespacesInstanceCreateSpec
			switch {
			case !vapi.Decode(r, w, &spec):
			case spec.Namespace == "":
				vapi.ApiErrorInvalidArgument(w)
			case s.namespaces[spec.Namespace] != nil:
				vapi.ApiErrorAlreadyExists(w)
			default:
				s.namespaces[spec.Namespace] = &namespace.NamespacesInstanceInfo{
					ClusterId: spec.Cluster, ConfigStatus: namespace.RunningConfigStatus.String(), VmServiceSpec: spec.VmServiceSpec,
				}
				vapi.StatusOK(w)
			}
		case found == nil:
			vapi.ApiErrorNotFound(w)
		case r.Method == http.MethodGet:
			vapi.StatusOK(w, found)
		case r.Method == http.MethodPatch:
			var spec namespace.NamespacesInstanceUpdateSpec
			if vapi.Decode(r, w, &spec) {
				found.VmServiceSpec = spec.VmServiceSpec
				vapi.StatusOK(w)
			}
		case r.Method == http.MethodDelete:
			delete(s.namespaces, name)
			vapi.StatusOK(w)
		default:
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		}
	}
}

// vmClasses serves the classes of VMs.
func (s *supervisor) vmClasses(w http.ResponseWriter, r *http.Request) {
	id := strings.Trim(strings.TrimPrefix(r.URL.Path, classesPath), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.classes[id]
	switch {
	case r.Method == http.MethodGet && id == "":
		all := make([]*namespace.VirtualMachineClassInfo, 0, len(s.classes))
		for _, id := range slices.Sorted(maps.Keys(s.classes)) {
			all = append(all, s.classes[id])
		}
		vapi.StatusOK(w, all)
	case r.Method == http.MethodPost && id == "":
		var spec namespace.VirtualMachineClassCreateSpec
		switch {
		case !vapi.Decode(r, w, &spec):
		case spec.Id == "":
			vapi.ApiErrorInvalidArgument(w)
		case s.classes[spec.Id] != nil:
			vapi.ApiErrorAlreadyExists(w)
		default:
			s.classes[spec.Id] = &namespace.VirtualMachineClassInfo{
				Id: spec.Id, CpuCount: spec.CpuCount, MemoryMb: spec.MemoryMb, MemoryReservation: spec.MemoryReservation,
				CpuReservation: spec.CpuReservation, Devices: spec.Devices, ConfigSpec: spec.ConfigSpec,
			}
			vapi.StatusOK(w)
		}
	case found == nil:
		vapi.ApiErrorNotFound(w)
	case r.Method == http.MethodGet:
		vapi.StatusOK(w, found)
	case r.Method == http.MethodPatch:
		var spec namespace.VirtualMachineClassUpdateSpec
		if vapi.Decode(r, w, &spec) {
			found.CpuCount, found.MemoryMb = spec.CpuCount, spec.MemoryMb
			found.CpuReservation, found.MemoryReservation = spec.CpuReservation, spec.MemoryReservation
			found.Devices, found.ConfigSpec = spec.Devices, spec.ConfigSpec
			vapi.StatusOK(w)
		}
	case r.Method == http.MethodDelete:
		delete(s.classes, id)
		vapi.StatusOK(w)
	default:
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
	}
}
