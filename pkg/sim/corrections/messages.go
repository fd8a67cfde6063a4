package corrections

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// describeEvents replaces the vCenter's descriptions of events, from which vcsim creates messages: vcsim describes half of the
// types that it posts, and one of its texts is an invalid template, which ends the process when such an event is posted.
//
// For events that are posted with a message, the template is [ownMessage]: any other would replace it.
func describeEvents(base *simulator.Context) {
	m := base.Map.EventManager()
	m.Description.EventInfo = make([]types.EventDescriptionEventDetail, 0, len(descriptions))
	for _, d := range descriptions {
		m.Description.EventInfo = append(m.Description.EventInfo, types.EventDescriptionEventDetail{
			Key: d.kind, Description: d.description, Category: d.category, FullFormat: d.format,
			FormatOnDatacenter: d.format, FormatOnComputeResource: d.format, FormatOnHost: d.format, FormatOnVm: d.format,
		})
	}
}

// ownMessage keeps the message.
const ownMessage = "{{.FullFormattedMessage}}"

// descriptions are the messages of events, as templates. The table is read-only.
var descriptions = []struct{ kind, description, category, format string }{
	{
		"AlreadyAuthenticatedSessionEvent", "Already authenticated", "info",
		"User cannot log in: the session is authenticated already",
	},
	{
		"BadUsernameSessionEvent", "Bad user name", "error",
		"Cannot log in {{.UserName}}@{{.IpAddress}}",
	},
	{
		"ClusterCreatedEvent", "Cluster created", "info",
		"Created cluster {{.ComputeResource.Name}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"ClusterDestroyedEvent", "Cluster deleted", "info",
		"Removed cluster {{.ComputeResource.Name}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"ClusterReconfiguredEvent", "Cluster reconfigured", "info",
		"Reconfigured cluster {{.ComputeResource.Name}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"CustomizationFailed", "Cannot complete customization", "error",
		"Customization of VM {{.Vm.Name}} failed",
	},
	{
		"CustomizationNetworkSetupFailed", "Cannot complete customization network setup", "error",
		"The network of the guest of VM {{.Vm.Name}} could not be set up",
	},
	{
		"CustomizationStartedEvent", "Started customization", "info",
		"Customization of VM {{.Vm.Name}} has started",
	},
	{
		"CustomizationSucceeded", "Customization succeeded", "info",
		"Customization of VM {{.Vm.Name}} has succeeded",
	},
	{
		"DVPortgroupCreatedEvent", "dvPort group created", "info",
		"dvPort group {{.Net.Name}}{{with .Datacenter}} in {{.Name}}{{end}} was added to switch{{with .Dvs}} {{.Name}}{{end}}.",
	},
	{
		"DVPortgroupDestroyedEvent", "dvPort group deleted", "info",
		"dvPort group {{.Net.Name}}{{with .Datacenter}} in {{.Name}}{{end}} was deleted.",
	},
	{
		"DatacenterCreatedEvent", "Datacenter created", "info",
		"Created datacenter {{.Datacenter.Name}} in folder {{.Parent.Name}}",
	},
	{
		"DatacenterRenamedEvent", "Datacenter renamed", "info",
		"Renamed datacenter from {{.OldName}} to {{.NewName}}",
	},
	{
		"DatastoreFileCopiedEvent", "File copied to datastore", "info",
		"Copied {{.SourceFile}} from {{.SourceDatastore.Name}} to {{.Datastore.Name}} as {{.TargetFile}}",
	},
	{
		"DatastoreFileDeletedEvent", "File deleted", "info",
		"{{.TargetFile}} is being deleted from {{.Datastore.Name}}",
	},
	{
		"DatastoreFileMovedEvent", "File moved to datastore", "info",
		"Moved {{.SourceFile}} from {{.SourceDatastore.Name}} to {{.Datastore.Name}} as {{.TargetFile}}",
	},
	{
		"DrsEnteredStandbyModeEvent", "DRS entered standby mode", "info",
		"DRS put {{.Host.Name}} into standby mode",
	},
	{
		"DvsCreatedEvent", "vSphere Distributed Switch created", "info",
		"A vSphere Distributed Switch {{.Dvs.Name}} was created{{with .Datacenter}} in {{.Name}}{{end}}.",
	},
	{
		"DvsDestroyedEvent", "vSphere Distributed Switch deleted", "info",
		"vSphere Distributed Switch {{.Dvs.Name}}{{with .Datacenter}} in {{.Name}}{{end}} was deleted.",
	},
	{
		"DvsHostJoinedEvent", "Host joined the vSphere Distributed Switch", "info",
		"The host {{.HostJoined.Name}} joined the vSphere Distributed Switch {{.Dvs.Name}}{{with .Datacenter}} in {{.Name}}{{end}}.",
	},
	{
		"DvsHostLeftEvent", "Host left the vSphere Distributed Switch", "info",
		"The host {{.HostLeft.Name}} left the vSphere Distributed Switch {{.Dvs.Name}}{{with .Datacenter}} in {{.Name}}{{end}}.",
	},
	{
		"DvsReconfiguredEvent", "vSphere Distributed Switch reconfigured", "info",
		"The vSphere Distributed Switch {{.Dvs.Name}}{{with .Datacenter}} in {{.Name}}{{end}} was reconfigured.",
	},
	{
		"EnteredMaintenanceModeEvent", "Entered maintenance mode", "info",
		"Host {{.Host.Name}}{{with .Datacenter}} in {{.Name}}{{end}} has entered maintenance mode",
	},
	{
		"EnteredStandbyModeEvent", "Entered standby mode", "info",
		"Host {{.Host.Name}} has entered standby mode",
	},
	{
		"EnteringMaintenanceModeEvent", "Entering maintenance mode", "info",
		"Host {{.Host.Name}}{{with .Datacenter}} in {{.Name}}{{end}} is entering maintenance mode",
	},
	{
		"EnteringStandbyModeEvent", "Entering standby mode", "info",
		"Host {{.Host.Name}} is entering standby mode",
	},
	{
		"ExitMaintenanceModeEvent", "Exit maintenance mode", "info",
		"Host {{.Host.Name}}{{with .Datacenter}} in {{.Name}}{{end}} has left maintenance mode",
	},
	{
		"ExitedStandbyModeEvent", "Exited standby mode", "info",
		"Host {{.Host.Name}} is no longer in standby mode",
	},
	{
		"ExitingStandbyModeEvent", "Exiting standby mode", "info",
		"Host {{.Host.Name}} is leaving standby mode",
	},
	{
		"GeneralEvent", "General event", "info",
		"{{.Message}}",
	},
	{
		"GeneralHostErrorEvent", "Host error", "error",
		"Error{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}: {{.Message}}",
	},
	{
		"GeneralUserEvent", "User event", "user",
		"User logged event: {{.Message}}",
	},
	{
		"GeneralVmErrorEvent", "VM error", "error",
		"Error on {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}: {{.Message}}",
	},
	{
		"HostRemovedEvent", "Host removed", "info",
		"Removed host {{.Host.Name}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"HostAddedEvent", "Host added", "info",
		"Added host {{.Host.Name}} to datacenter {{.Datacenter.Name}}",
	},
	{
		"HostShutdownEvent", "Host shut down", "info",
		"Shut down of {{.Host.Name}}{{with .Datacenter}} in {{.Name}}{{end}}: {{.Reason}}",
	},
	{
		"PermissionAddedEvent", "Permission added", "info",
		"Permission created for {{.Principal}} on {{.Entity.Name}}, role is {{.Role.Name}}",
	},
	{
		"PermissionRemovedEvent", "Permission removed", "info",
		"Permission rule removed for {{.Principal}} on {{.Entity.Name}}",
	},
	{
		"PermissionUpdatedEvent", "Permission updated", "info",
		"Permission changed for {{.Principal}} on {{.Entity.Name}}, role is {{.Role.Name}}",
	},
	{
		"ResourcePoolCreatedEvent", "Resource pool created", "info",
		"Created resource pool {{.ResourcePool.Name}} in {{.ComputeResource.Name}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"ResourcePoolDestroyedEvent", "Resource pool deleted", "info",
		"Removed resource pool {{.ResourcePool.Name}} in {{.ComputeResource.Name}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"RoleAddedEvent", "Role added", "info",
		"New role {{.Role.Name}} created",
	},
	{
		"RoleRemovedEvent", "Role removed", "info",
		"Role {{.Role.Name}} removed",
	},
	{
		"RoleUpdatedEvent", "Role updated", "info",
		"Modified role {{.Role.Name}}",
	},
	{
		"SessionTerminatedEvent", "Session stopped", "info",
		"A session for user {{.TerminatedUsername}} has stopped",
	},
	{
		"UserLoginSessionEvent", "User login", "info",
		"User {{.UserName}}@{{.IpAddress}} logged in as {{.UserAgent}}",
	},
	{
		"UserLogoutSessionEvent", "User logout", "info",
		"User {{.UserName}}@{{.IpAddress}} logged out (login time: {{.LoginTime}}, number of API invocations: {{.CallCount}}, user agent: {{.UserAgent}})",
	},
	{
		"VmBeingClonedEvent", "VM being cloned", "info",
		"Cloning {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} to {{.DestName}} on {{.DestHost.Name}}",
	},
	{
		"VmBeingCreatedEvent", "Creating VM", "info",
		"Creating {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmBeingDeployedEvent", "Deploying VM", "info",
		"Deploying {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} from template {{.SrcTemplate.Name}}",
	},
	{
		"VmClonedEvent", "VM cloned", "info",
		"{{.SourceVm.Name}} cloned to {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmConnectedEvent", "VM connected", "info",
		"Virtual machine {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} is connected",
	},
	{
		"VmCreatedEvent", "VM created", "info",
		"Created virtual machine {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmDeployedEvent", "VM deployed", "info",
		"Template {{.SrcTemplate.Name}} deployed on host {{.Host.Name}}",
	},
	{
		"VmDisconnectedEvent", "VM disconnected", "info",
		"{{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} is disconnected",
	},
	{
		"VmGuestRebootEvent", "Guest reboot", "info",
		"Guest OS reboot for {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmGuestShutdownEvent", "Guest OS shut down", "info",
		"Guest OS shut down for {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmGuestStandbyEvent", "Guest standby", "info",
		"Guest OS standby for {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmInstanceUuidAssignedEvent", "Assign a new instance UUID", "info",
		"New instance UUID {{.InstanceUuid}} assigned to {{.Vm.Name}}",
	},
	{
		"VmMacAssignedEvent", "VM MAC assigned", "info",
		"New MAC address {{.Mac}} assigned to adapter {{.Adapter}} of {{.Vm.Name}}",
	},
	{
		"VmOrphanedEvent", "VM orphaned", "warning",
		"Virtual machine {{.Vm.Name}} does not exist{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmPoweredOffEvent", "VM powered off", "info",
		"{{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} is powered off",
	},
	{
		"VmPoweredOnEvent", "VM powered on", "info",
		"{{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} is powered on",
	},
	{
		"VmReconfiguredEvent", "VM reconfigured", "info",
		"Reconfigured {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmRegisteredEvent", "VM registered", "info",
		"Registered {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmRemovedEvent", "VM removed", "info",
		"Removed {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmRenamedEvent", "VM renamed", "info",
		"Renamed {{.Vm.Name}} from {{.OldName}} to {{.NewName}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},
	{
		"VmResettingEvent", "VM resetting", "info",
		"{{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} is reset",
	},
	{
		"VmResumingEvent", "VM resuming", "info",
		"{{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} is resumed",
	},
	{
		"VmStartingEvent", "VM starting", "info",
		"{{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} is starting",
	},
	{
		"VmStoppingEvent", "VM stopping", "info",
		"{{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} is stopping",
	},
	{
		"VmSuspendedEvent", "VM suspended", "info",
		"{{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} is suspended",
	},
	{
		"VmSuspendingEvent", "VM being suspended", "info",
		"{{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}} is being suspended",
	},
	{
		"VmUuidAssignedEvent", "VM UUID assigned", "info",
		"New BIOS UUID {{.Uuid}} assigned to {{.Vm.Name}}{{with .Host}} on {{.Name}}{{end}}{{with .Datacenter}} in {{.Name}}{{end}}",
	},

	// Posted with a message.
	{"CanceledHostOperationEvent", "Canceled host operation", "info", ownMessage},
	{"DrsVmMigratedEvent", "DRS VM migrated", "info", ownMessage},
	{"HostConnectedEvent", "Host connected", "info", ownMessage},
	{"HostConnectionLostEvent", "Host connection lost", "error", ownMessage},
	{"HostDisconnectedEvent", "Host disconnected", "info", ownMessage},
	{"HostReconnectionFailedEvent", "Cannot reconnect host", "error", ownMessage},
	{"NoMaintenanceModeDrsRecommendationForVM", "No maintenance mode DRS recommendation for the VM", "info", ownMessage},
	{"VmBeingHotMigratedEvent", "VM is hot migrating", "info", ownMessage},
	{"VmBeingMigratedEvent", "VM is migrating", "info", ownMessage},
	{"VmBeingRelocatedEvent", "VM is relocating", "info", ownMessage},
	{"VmMigratedEvent", "VM migrated", "info", ownMessage},
	{"VmRelocatedEvent", "VM relocated", "info", ownMessage},
}

// anchorEvent sets the root folder as the object of an EventEx without one: vcsim's alarms look the object up in the inventory,
// and a panic in the event manager blocks the vCenter.
func anchorEvent(ctx *simulator.Context, method *simulator.Method) {
	req, ok := method.Body.(*types.PostEvent)
	if !ok {
		return
	}
	e, ok := req.EventToPost.(*types.EventEx)
	if !ok {
		return
	}
	if _, known := ctx.Map.Get(vc.Ref{Type: e.ObjectType, Value: e.ObjectId}).(mo.Entity); known {
		return
	}
	if s, ok := ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance); ok {
		e.ObjectType, e.ObjectId = s.Content.RootFolder.Type, s.Content.RootFolder.Value
	}
}
