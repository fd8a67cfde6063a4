package truth

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
)

// Message is what a vCenter says of a fault, in English; empty for faults that it has no words for here.
func Message(f types.BaseMethodFault) string {
	switch f := f.(type) {
	case *types.InvalidPowerState:
		return fmt.Sprintf("The attempted operation cannot be performed in the current state (%s).", powerState(f.ExistingState))
	case *types.InvalidArgument:
		return "A specified parameter was not correct: " + f.InvalidProperty
	case *types.DuplicateName:
		return fmt.Sprintf("The name '%s' already exists.", f.Name)
	case *types.AlreadyExists:
		return fmt.Sprintf("The specified key, name, or identifier '%s' already exists.", f.Name)
	case *types.InvalidName:
		return fmt.Sprintf("The name '%s' is not valid.", f.Name)
	case *types.FileAlreadyExists:
		return fmt.Sprintf("Cannot complete the operation because the file or folder %s already exists", f.File)
	case *types.FileNotFound:
		return fmt.Sprintf("File %s was not found", f.File)
	case *types.FileLocked:
		return fmt.Sprintf("Unable to access file %s since it is locked", f.File)
	case *types.InvalidDatastorePath:
		return fmt.Sprintf("Invalid datastore path '%s'.", f.DatastorePath)
	case *types.InvalidDatastore:
		return fmt.Sprintf("Invalid datastore '%s'.", f.Name)
	case *types.NoDiskSpace:
		return fmt.Sprintf("Insufficient disk space on datastore '%s'.", f.Datastore)
	case *types.ResourceInUse:
		return fmt.Sprintf("The resource '%s' is in use.", f.Name)
	case *types.InvalidDeviceSpec:
		return fmt.Sprintf("Invalid configuration for device '%d'.", f.DeviceIndex)
	case *types.ManagedObjectNotFound:
		return fmt.Sprintf("The object 'vim.%s:%s' has already been deleted or has not been completely created",
			f.Obj.Type, f.Obj.Value)
	case *types.InvalidState:
		return "The operation is not allowed in the current state."
	case *types.HostNotConnected:
		return "Unable to communicate with the remote host, since it is disconnected."
	case *types.ToolsUnavailable:
		return "Cannot complete operation because VMware Tools is not running in this virtual machine."
	case *types.TaskInProgress:
		return "Another task is already in progress."
	case *types.Timedout:
		return "Operation timed out."
	case *types.RequestCanceled:
		return "The task was canceled by a user."
	case *types.NotSupported:
		return "The operation is not supported on the object."
	case *types.NotFound:
		return "The object or item referred to could not be found."
	case *types.NoPermission:
		return "Permission to perform this operation was denied."
	case *types.NotAuthenticated:
		return "The session is not authenticated."
	case *types.InvalidLogin:
		return "Cannot complete login due to an incorrect user name or password."
	case *types.NoCompatibleHost:
		return "No host is compatible with the virtual machine."
	case *types.AlreadyUpgraded:
		return "The virtual machine hardware version is already up-to-date."
	}
	return ""
}

func powerState(s types.VirtualMachinePowerState) string {
	switch s {
	case types.VirtualMachinePowerStatePoweredOn:
		return "Powered on"
	case types.VirtualMachinePowerStatePoweredOff:
		return "Powered off"
	case types.VirtualMachinePowerStateSuspended:
		return "Suspended"
	}
	return string(s)
}
