package store

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// answer is the answer of a method, saved under its name.
type answer struct {
	method string
	value  any
}

// methods saves what only methods return: the same answers as govc, and QueryConfigOptionDescriptor, which vcsim also loads.
func (s *saver) methods(ref vc.Ref) error {
	for _, call := range s.calls(ref) {
		a, err := call()
		if unanswered(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", ref, a.method, err)
		}
		if s.scrubber != nil {
			a.value = scrub(s.scrubber, a.value)
		}
		if err := s.writer.xml(methodFile(ref, a.method), a.value); err != nil {
			return err
		}
	}
	return nil
}

func (s *saver) calls(ref vc.Ref) []func() (answer, error) {
	ctx, c := s.ctx, s.client
	switch ref.Type {
	case "VmwareDistributedVirtualSwitch":
		return []func() (answer, error){func() (answer, error) {
			r, err := methods.FetchDVPorts(ctx, c, &types.FetchDVPorts{This: ref})
			return answer{"FetchDVPorts", r}, err
		}}
	case "EnvironmentBrowser":
		return []func() (answer, error){
			func() (answer, error) {
				r, err := methods.QueryConfigOption(ctx, c, &types.QueryConfigOption{This: ref})
				return answer{"QueryConfigOption", r}, err
			}, func() (answer, error) {
				r, err := methods.QueryConfigOptionDescriptor(ctx, c, &types.QueryConfigOptionDescriptor{This: ref})
				if err == nil {
					for i := range r.Returnval {
						slices.SortFunc(r.Returnval[i].Host, compareRefs)
					}
				}
				return answer{"QueryConfigOptionDescriptor", r}, err
			}, func() (answer, error) {
				r, err := methods.QueryConfigTarget(ctx, c, &types.QueryConfigTarget{This: ref})
				return answer{"QueryConfigTarget", r}, err
			}, func() (answer, error) {
				r, err := methods.QueryTargetCapabilities(ctx, c, &types.QueryTargetCapabilities{This: ref})
				return answer{"QueryTargetCapabilities", r}, err
			},
		}
	case "HostNetworkSystem":
		return []func() (answer, error){func() (answer, error) {
			r, err := methods.QueryNetworkHint(ctx, c, &types.QueryNetworkHint{This: ref})
			return answer{"QueryNetworkHint", r}, err
		}}
	case "HostSystem":
		return []func() (answer, error){func() (answer, error) {
			r, err := methods.QueryTpmAttestationReport(ctx, c, &types.QueryTpmAttestationReport{This: ref})
			return answer{"QueryTpmAttestationReport", r}, err
		}}
	case "AlarmManager":
		return []func() (answer, error){func() (answer, error) { return s.alarms(ref) }}
	}
	return nil
}

// alarms saves the alarms, which the inventory does not contain.
func (s *saver) alarms(manager vc.Ref) (answer, error) {
	r, err := methods.GetAlarm(s.ctx, s.client, &types.GetAlarm{This: manager})
	if err != nil {
		return answer{"GetAlarm", r}, err
	}
	refs := distinct(r.Returnval)
	for start := 0; start < len(refs); start += batch {
		part := refs[start:min(start+batch, len(refs))]
		found, err := s.all(part)
		if err != nil {
			return answer{"GetAlarm", r}, err
		}
		for _, ref := range part {
			if content, ok := found[ref]; ok {
				if err := s.object(content); err != nil {
					return answer{"GetAlarm", r}, err
				}
			}
		}
	}
	return answer{"GetAlarm", r}, nil
}

// unanswered reports whether a failed call may be ignored: of a host that is down, an older release, or for lack of privileges.
func unanswered(err error) bool {
	return err != nil && (gone(err) ||
		fault.Is(err, &types.HostNotConnected{}) || fault.Is(err, &types.NotSupported{}) ||
		fault.Is(err, &types.NoPermission{}) || fault.Is(err, &types.MethodNotFound{}) || fault.Is(err, &types.InvalidState{}))
}
