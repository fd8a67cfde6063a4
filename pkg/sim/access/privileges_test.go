package access

import (
	"reflect"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Every privilege of the table exists, and every method that vcsim's objects have is in the table, unless it only reads
// or is answered for by its arguments.
func TestPrivilegesAreComplete(t *testing.T) {
	admin := systemRoles()[roleAdmin]
	for kind, methods := range privileges {
		for method, privilege := range methods {
			if !admin.uses(privilege) {
				t.Errorf("%s.%s: no privilege %q", kind, method, privilege)
			}
		}
	}
	for _, obj := range []any{
		new(simulator.VirtualMachine), new(simulator.VirtualMachineSnapshot), new(simulator.HostSystem),
		new(simulator.Folder), new(simulator.StoragePod), new(simulator.Datacenter), new(simulator.Datastore),
		new(simulator.ClusterComputeResource), new(simulator.ResourcePool), new(simulator.VirtualApp),
		new(simulator.DistributedVirtualSwitch), new(simulator.DistributedVirtualPortgroup),
		new(simulator.HostDatastoreSystem), new(simulator.HostNetworkSystem), new(simulator.HostStorageSystem),
		new(simulator.HostFirewallSystem), new(simulator.HostCertificateManager), new(simulator.HostVirtualNicManager),
		new(simulator.OptionManager), new(simulator.CustomFieldsManager), new(simulator.CustomizationSpecManager),
		new(simulator.ExtensionManager), new(simulator.LicenseManager), new(simulator.LicenseAssignmentManager),
		new(simulator.FileManager), new(simulator.VirtualDiskManager), new(simulator.VcenterVStorageObjectManager),
		new(simulator.AuthorizationManager), new(simulator.SessionManager), new(simulator.TenantManager),
		new(simulator.IpPoolManager), new(simulator.AlarmManager), new(simulator.Alarm), new(simulator.Task),
		new(simulator.TaskManager), new(simulator.StorageResourceManager),
	} {
		typ := reflect.TypeOf(obj)
		for method := range typ.Methods() {
			method, ok := soapName(method)
			if !ok || readsOnly(method) {
				continue
			}
			if _, ok := privileges[typ.Elem().Name()][method]; !ok && !byArguments[method] {
				t.Errorf("%s.%s: not in the table", typ.Elem().Name(), method)
			}
		}
	}
}

// byArguments are methods whose needs are those of their arguments (need.go), or that everybody may call.
var byArguments = map[string]bool{
	"MoveIntoFolder_Task": true, "ReconfigVM_Task": true, "PowerOnMultiVM_Task": true, "RefreshStorageInfo": true,
	"SetField": true, "CreateAlarm": true, "AcknowledgeAlarm": true,
	"DeleteDatastoreFile_Task": true, "MakeDirectory": true, "MoveDatastoreFile_Task": true, "CopyDatastoreFile_Task": true,
	"CreateVirtualDisk_Task": true, "DeleteVirtualDisk_Task": true, "ExtendVirtualDisk_Task": true,
	"MoveVirtualDisk_Task": true, "CopyVirtualDisk_Task": true, "SetVirtualDiskUuid": true,
	"CreateDisk_Task": true, "DeleteVStorageObject_Task": true, "ExtendDisk_Task": true,
	"VStorageObjectCreateSnapshot_Task": true, "DeleteSnapshot_Task": true,
	"VCenterUpdateVStorageObjectMetadataEx_Task": true,
	"ReconcileDatastoreInventory_Task":           true, "SetEntityPermissions": true, "ResetEntityPermissions": true, "RemoveEntityPermission": true,
	"CreateIpPool": true, "UpdateIpPool": true, "DestroyIpPool": true, "ReleaseIpAllocation": true,
	"Login": true, "Logout": true, "LoginByToken": true, "LoginExtensionByCertificate": true, "CloneSession": true,
	"AcquireCloneTicket": true, "ImpersonateUser": true, "AcquireGenericServiceTicket": true,
	"CreateCollectorForTasks": true,
}

func readsOnly(method string) bool {
	for _, prefix := range []string{"Query", "Retrieve", "Find", "Fetch", "Get", "List", "Has", "Does", "Place", "Recommend", "Reload"} {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}

// soapName is the name of the SOAP call that a Go method answers.
func soapName(m reflect.Method) (string, bool) {
	for i := 1; i < m.Type.NumIn(); i++ {
		in := m.Type.In(i)
		if in.Kind() == reflect.Pointer && in.Elem().PkgPath() == reflect.TypeFor[types.Login]().PkgPath() {
			if f, ok := in.Elem().FieldByName("This"); ok && f.Type == reflect.TypeFor[types.ManagedObjectReference]() {
				return in.Elem().Name(), true
			}
		}
	}
	return "", false
}
