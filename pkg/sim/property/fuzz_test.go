package property_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// fuzzMethods are the calls whose bodies are fuzzed.
func fuzzMethods() []string {
	return []string{
		"RetrievePropertiesEx", "RetrieveProperties", "CreateFilter", "CheckForUpdates", "WaitForUpdatesEx", "WaitForUpdates",
		"ContinueRetrievePropertiesEx", "CancelRetrievePropertiesEx", "CancelWaitForUpdates",
	}
}

// FuzzSOAP: every body of a call on the collector is answered, with a fault or without, and never panics.
func FuzzSOAP(f *testing.F) {
	object := `<objectSet><obj type="Folder">group-d1</obj><skip>false</skip>%</objectSet>`
	step := `<selectSet xsi:type="TraversalSpec"><name>a</name><type>Folder</type><path>childEntity</path><skip>false</skip>%</selectSet>`
	again := `<selectSet xsi:type="SelectionSpec"><name>a</name></selectSet>`
	for i, props := range []string{
		`<propSet><type>ManagedEntity</type><pathSet>name</pathSet></propSet>`,
		`<propSet><type>VirtualMachine</type><all>true</all></propSet>`,
		`<propSet><type></type><pathSet>config.extraConfig["a.b"].value</pathSet><pathSet>config.hardware.device[4000]</pathSet></propSet>`,
		`<propSet><type>Folder</type><pathSet>[</pathSet><pathSet>.</pathSet><pathSet>a[]</pathSet><pathSet></pathSet></propSet>`,
	} {
		for _, sel := range []string{"", strings.Replace(step, "%", again, 1), `<selectSet/>`, `<selectSet xsi:type="nope"/>`, again} {
			objects := strings.Replace(object, "%", sel, 1)
			f.Add(uint8(i), "<specSet>"+props+objects+"</specSet><options/>")
			f.Add(uint8(2), "<spec>"+props+objects+"</spec><partialUpdates>true</partialUpdates>")
		}
	}
	f.Add(uint8(4), `<version>1</version><options><maxObjectUpdates>-1</maxObjectUpdates></options>`)
	f.Add(uint8(3), `<version></version>`)
	f.Add(uint8(6), `<token>x</token>`)

	v := newVCenter(f, true, property.Options{MaxWait: time.Millisecond}, small)
	c := v.login(f)
	cookies := c.Jar.Cookies(c.URL())
	user, err := session.NewManager(c).UserSession(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method uint8, inner string) {
		if strings.Contains(inner, "axWaitSeconds") {
			return // it would be waited for
		}
		name := fuzzMethods()[int(method)%len(fuzzMethods())]
		body := `<?xml version="1.0"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>` +
			`<` + name + ` xmlns="urn:vim25"><_this type="PropertyCollector">propertyCollector</_this>` + inner + `</` + name + `></soapenv:Body></soapenv:Envelope>`
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/sdk", strings.NewReader(body))
		for _, cookie := range cookies {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		v.model.Service.ServeMux.ServeHTTP(w, r)
		if w.Body.Len() == 0 {
			t.Errorf("status %d and no answer", w.Code)
		}
		v.service.EndSession(user.Key) // its filters would pile up
	})
}

// FuzzSpec: a filter on any spec can be created, waited on and read, or is refused.
func FuzzSpec(f *testing.F) {
	f.Add("VirtualMachine", "name", "Folder", "childEntity", "x", "x", true)
	f.Add("ManagedEntity", `config.extraConfig["k"].value`, "", "parent", "", "x", false)
	f.Add("", "config.hardware.device[4000].backing.fileName", "Folder", "childEntity[1]", "a", "b", true)
	f.Add("HostSystem", "[\"", "HostSystem", "vm[\"x\"]", "a", "a", false)
	f.Add("Folder", "a[1]b", "Nope", "self", "a", "a", false)

	v := newVCenter(f, true, property.Options{MaxWait: time.Millisecond}, small)
	root := v.Map.Get(vimInstance).(*simulator.ServiceInstance).Content
	p := v.call().Session.Get(root.PropertyCollector).(*property.PropertyCollector)
	f.Fuzz(func(t *testing.T, kind, path, from, along, name, next string, skip bool) {
		spec := types.PropertyFilterSpec{
			PropSet: []types.PropertySpec{{Type: kind, PathSet: []string{path, "name"}}, {Type: from, PathSet: []string{along}}},
			ObjectSet: []types.ObjectSpec{{Obj: root.RootFolder, Skip: &skip, SelectSet: []types.BaseSelectionSpec{
				&types.TraversalSpec{
					SelectionSpec: types.SelectionSpec{Name: name}, Type: from, Path: along, Skip: &skip,
					SelectSet: []types.BaseSelectionSpec{&types.SelectionSpec{Name: next}},
				},
				nil,
			}}},
		}
		answered := func(b soap.HasFault, result any) {
			t.Helper()
			if b.Fault() == nil && result == nil {
				t.Error("neither an answer nor a fault")
			}
		}
		read := p.RetrieveProperties(v.call(), &types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{spec}}).(*methods.RetrievePropertiesBody)
		answered(read, read.Res)
		made := p.CreateFilter(v.call(), &types.CreateFilter{Spec: spec, PartialUpdates: skip}).(*methods.CreateFilterBody)
		answered(made, made.Res)
		if made.Res == nil {
			return
		}
		set := p.WaitForUpdatesEx(v.call(), &types.WaitForUpdatesEx{}).(*methods.WaitForUpdatesExBody)
		answered(set, set.Res)
		if set.Res != nil {
			v.set(root.RootFolder, change("overallStatus", types.ManagedEntityStatusYellow))
			set = p.WaitForUpdatesEx(v.call(), &types.WaitForUpdatesEx{Version: set.Res.Returnval.Version}).(*methods.WaitForUpdatesExBody)
			answered(set, set.Res)
		}
		ctx := v.call()
		filter := ctx.Session.Get(made.Res.Returnval).(*property.PropertyFilter)
		filter.DestroyPropertyFilter(ctx, &types.DestroyPropertyFilter{This: filter.Self})
	})
}
