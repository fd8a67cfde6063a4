package corrections

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	vimxml "github.com/vmware/govmomi/vim25/xml"
)

// Message returns a vCenter's English message for a fault. For a fault whose message is not known here it has the words of the
// type's name: no client shows a Go type.
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
	case *types.InaccessibleDatastore:
		text := "Unable to access a datastore"
		if f.Name != "" {
			text = fmt.Sprintf("Unable to access datastore '%s'", f.Name)
		}
		return strings.TrimSuffix(text+": "+f.Detail, ": ") + "."
	case *types.TooManyDevices:
		return "The number of virtual devices exceeds the maximum for a given controller."
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
	case *types.SystemError:
		return "A general system error occurred: " + f.Reason
	case *types.NicSettingMismatch:
		return fmt.Sprintf("The specification has settings for %d network adapters, and the virtual machine has %d.", f.NumberOfNicsInSpec, f.NumberOfNicsInVM)
	case *types.CustomizationPending:
		return "A customization operation is already pending for this virtual machine."
	case *types.InvalidVmConfig:
		return "The configuration of the virtual machine is not valid: " + f.Property
	case *types.InvalidRequest:
		return "The request is not valid."
	case *types.MethodNotFound:
		return fmt.Sprintf("The method '%s' does not exist on 'vim.%s:%s'.", f.Method, f.Receiver.Type, f.Receiver.Value)
	case *types.MethodDisabled:
		return "The method is disabled."
	}
	return words(reflect.Indirect(reflect.ValueOf(f)).Type().Name())
}

// words returns the words of a type's name: "Cannot access network." for CannotAccessNetwork.
func words(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		begins := i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins {
			out.WriteByte(' ')
		}
		if begins && (i+1 == len(runes) || !unicode.IsUpper(runes[i+1])) {
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String() + "."
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

// FaultStrings adds a vCenter's messages to the faults of next: vcsim leaves them empty or uses the name of the fault's type,
// which users of clients then see.
func FaultStrings(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := &faultWriter{ResponseWriter: w}
		next.ServeHTTP(f, r)
		f.finish()
	})
}

// faultWriter passes answers through, but buffers faults until they are complete.
type faultWriter struct {
	http.ResponseWriter
	fault *bytes.Buffer // nil unless the answer is a fault
}

// Unwrap supports http.ResponseController.
func (w *faultWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *faultWriter) WriteHeader(status int) {
	if status == http.StatusInternalServerError && w.fault == nil {
		w.fault = new(bytes.Buffer)
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *faultWriter) Write(p []byte) (int, error) {
	if w.fault != nil {
		return w.fault.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

func (w *faultWriter) finish() {
	if w.fault == nil {
		return
	}
	body := reword(w.fault.Bytes())
	if w.Header().Get("Content-Length") != "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.ResponseWriter.WriteHeader(http.StatusInternalServerError)
	_, _ = w.ResponseWriter.Write(body) // the client may have disconnected
}

// reword replaces the text of a fault that is only the name of its type.
func reword(body []byte) []byte {
	const open, end = "<faultstring>", "</faultstring>"
	_, rest, ok := bytes.Cut(body, []byte(open))
	if !ok {
		return body
	}
	text, _, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return body
	}
	var envelope struct {
		Body struct{ Fault *soap.Fault }
	}
	d := vimxml.NewDecoder(bytes.NewReader(body))
	d.TypeFunc = types.TypeFunc()
	if d.Decode(&envelope) != nil || envelope.Body.Fault == nil {
		return body
	}
	fault, ok := asFault(envelope.Body.Fault.VimFault())
	if !ok {
		return body
	}
	if said := string(text); said != "" && strings.TrimPrefix(said, "*types.") != reflect.TypeOf(fault).Elem().Name() {
		return body
	}
	var message bytes.Buffer
	if xml.EscapeText(&message, []byte(Message(fault))) != nil {
		return body
	}
	return bytes.Replace(body, []byte(open+string(text)+end), []byte(open+message.String()+end), 1)
}

// asFault returns the pointer type of a decoded fault, as [Message] expects.
func asFault(v types.AnyType) (types.BaseMethodFault, bool) {
	if v == nil {
		return nil, false
	}
	p := reflect.New(reflect.TypeOf(v))
	p.Elem().Set(reflect.ValueOf(v))
	f, ok := reflect.TypeAssert[types.BaseMethodFault](p)
	return f, ok
}
