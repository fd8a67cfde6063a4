package inventory

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/redirect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Joining lets clients add hosts with networks and datastores. vcsim's AddHost_Task ends the process when the cluster has a host
// with a version that govmomi does not know (such as 8.0.3), and gives the new host version 6.5.
//
// The available hosts, disks and exports are those of the rack ([Joining.Rack]).
//
// Joining receives calls on clusters, folders and parts of hosts: call its Redirect from the registry's call hook. Create one
// with [NewJoining] before the vCenter serves.
type Joining struct {
	redirect.Receiver
	release release
	rack    rack
}

// NewJoining returns a Joining for a vCenter of that version and registers it.
func NewJoining(base *simulator.Context, version string) *Joining {
	j := &Joining{
		Receiver: redirect.Receiver{
			Self: vc.Ref{Type: "SandboxJoining", Value: "sandbox-joining"},
			Methods: map[string][]string{
				"ClusterComputeResource": {"AddHost_Task"},
				"Folder":                 {"AddStandaloneHost_Task"},
				"HostNetworkSystem":      {"AddPortGroup", "RemovePortGroup", "AddVirtualSwitch", "RemoveVirtualSwitch"},
				"HostDatastoreSystem": {
					"QueryAvailableDisksForVmfs", "QueryVmfsDatastoreCreateOptions", "CreateVmfsDatastore", "CreateNasDatastore",
				},
				"HostStorageSystem":              {"RescanVmfs"},
				"DistributedVirtualSwitch":       {"ReconfigureDvs_Task", "AddDVPortgroup_Task"},
				"VmwareDistributedVirtualSwitch": {"ReconfigureDvs_Task", "AddDVPortgroup_Task"},
			},
		},
		release: newRelease(version),
	}
	base.Map.Put(j)
	return j
}

// AddHostTask adds a host, and gives it the vCenter's version.
func (j *Joining) AddHostTask(ctx *simulator.Context, req *types.AddHost_Task) soap.HasFault {
	body := new(methods.AddHost_TaskBody)
	cluster, ok := ctx.Map.Get(req.This).(*simulator.ClusterComputeResource)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	// vcsim copies the host with the user's name, if one exists, with any version.
	own := *req
	own.Spec.UserName = ""
	req = &own
	task := simulator.CreateTask(cluster, "addHost", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		forgetDescriptors(ctx, &cluster.ComputeResource)
		defer describe(ctx, &cluster.ComputeResource, j.release)
		inner := cluster.AddHostTask(ctx, req).(*methods.AddHost_TaskBody).Res.Returnval
		made, fault := vc.Await(ctx, inner)
		if fault != nil {
			return nil, fault
		}
		if ref, ok := made.(vc.Ref); ok {
			j.welcome(ctx, ref)
		}
		return made, nil
	})
	body.Res = &types.AddHost_TaskResponse{Returnval: task.Run(ctx)}
	return body
}
