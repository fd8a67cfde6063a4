package guard

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// envelope is a request of SOAP: exactly one method. Namespaces do not matter to what it is about.
type envelope struct {
	Body struct {
		Calls []call `xml:",any"`
	} `xml:"Body"`
}

// call is a method with the arguments that matter.
type call struct {
	XMLName xml.Name
	This    []reference `xml:"_this"`
	NewName string      `xml:"newName"`
	Attach  []volume    `xml:"attachSpecs"`
	Detach  []volume    `xml:"detachSpecs"`
}

// volume is a volume of CNS with the VM that it comes to or goes from. What is there twice is not believed: of two, a
// vCenter may take the other one.
type volume struct {
	ID []string    `xml:"volumeId>id"`
	VM []reference `xml:"vm"`
}

type reference struct {
	Type  string `xml:"type,attr"`
	Value string `xml:",chardata"`
}

func (r reference) ref() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: r.Type, Value: strings.TrimSpace(r.Value)}
}

// readSOAP finds out what is called. A text that is not understood in full is an error: somebody else may understand it.
func readSOAP(body []byte) (call, error) {
	var e envelope
	d := xml.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&e); err != nil {
		return call{}, fmt.Errorf("is no request of SOAP: %w", err)
	}
	if len(e.Body.Calls) != 1 {
		return call{}, fmt.Errorf("is no request of SOAP: it calls %d methods", len(e.Body.Calls))
	}
	if len(bytes.TrimSpace(body[d.InputOffset():])) > 0 {
		return call{}, errors.New("is no request of SOAP: there is more behind it")
	}
	return e.Body.Calls[0], nil
}

// inSOAP says what a method intends.
func inSOAP(c call) Intent {
	in := Intent{Method: c.XMLName.Local}
	if len(c.This) > 0 {
		in.This = c.This[0].ref()
	}
	if reads(in.Method) {
		return in
	}
	if in.Write = true; len(c.This) != 1 {
		return in
	}
	machine := in.This.Type == "VirtualMachine"
	switch in.Method {
	case "PowerOnVM_Task":
		in.power(machine, power, poweredOn)
	case "PowerOffVM_Task":
		in.power(machine, power, poweredOff)
	case "SuspendVM_Task":
		in.power(machine, power, suspended)
	case "ShutdownGuest":
		in.power(machine, askGuest, poweredOff)
	case "StandbyGuest":
		in.power(machine, askGuest, suspended)
	case "ResetVM_Task", "RebootGuest":
		if machine {
			in.VM, in.Do.Kind = in.This, reset
		}
	case "Rename_Task":
		if machine {
			in.VM, in.Do.Kind, in.Do.With = in.This, rename, map[string]string{to: c.NewName}
		}
	case "CnsAttachVolume":
		in.volume(c.Attach, attachVolume)
	case "CnsDetachVolume":
		in.volume(c.Detach, detachVolume)
	}
	return in
}

func (in *Intent) power(machine bool, kind, state string) {
	if machine {
		in.VM, in.Do.Kind, in.Do.With = in.This, kind, map[string]string{to: state}
	}
}

func (in *Intent) volume(specs []volume, kind string) {
	if len(specs) != 1 || len(specs[0].ID) != 1 || len(specs[0].VM) != 1 || specs[0].VM[0].Type != "VirtualMachine" {
		return
	}
	in.VM, in.Do.Kind, in.Do.With = specs[0].VM[0].ref(), kind, map[string]string{volumeID: specs[0].ID[0]}
}
