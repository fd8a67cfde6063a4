package sim_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// FuzzSOAP sends bodies through the gate to the vCenter, within a session of the administrator. Every answer must be an envelope
// with a result or a fault; a panic anywhere ends the test.
//
// The seeds are recorded calls of clients. pick selects the value in the body that is replaced by value, none when 0: random
// bodies are hardly ever valid XML.
func FuzzSOAP(f *testing.F) {
	lab := sim.Start(f, large(5))
	b := &browser{lab: lab}
	for _, seed := range record(f, lab) {
		f.Add(seed, uint16(0), "")
		for pick := range len(slots(seed)) {
			f.Add(seed, uint16(pick+1), "")
		}
	}
	for _, seed := range []string{"", "<", "<Envelope/>", "<Envelope><Body/></Envelope>", "\x00", envelope("<Fault/>"), envelope(`<Login xmlns="urn:vim25"/>`)} {
		f.Add(seed, uint16(0), "")
	}
	for _, value := range []string{"vm-999999", "VirtualMachine", "-1", "99999999999999999999", "config.extraConfig[\"x\"]", "..", "true", "]]>"} {
		f.Add(envelope(`<RetrievePropertiesEx xmlns="urn:vim25"><_this type="PropertyCollector">propertyCollector</_this><specSet><propSet><type>VirtualMachine</type><pathSet>name</pathSet></propSet><objectSet><obj type="VirtualMachine">vm-1</obj></objectSet></specSet><options><maxObjects>1</maxObjects></options></RetrievePropertiesEx>`), uint16(5), value)
	}
	f.Fuzz(func(t *testing.T, body string, pick uint16, value string) {
		b.send(t, replace(body, int(pick), value))
	})
}

func envelope(body string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>` + body + `</Body></Envelope>`
}

// slots finds the values in a body, texts and attributes.
func slots(body string) [][]int { return valuePattern.FindAllStringSubmatchIndex(body, -1) }

var valuePattern = regexp.MustCompile(`>([^<>]*)</|(?:type|xsi:type)="([^"]*)"`)

func replace(body string, pick int, value string) string {
	all := slots(body)
	if pick == 0 || len(all) == 0 {
		return body
	}
	at := all[(pick-1)%len(all)]
	from, to := at[2], at[3]
	if from < 0 {
		from, to = at[4], at[5]
	}
	var escaped strings.Builder
	if xml.EscapeText(&escaped, []byte(value)) != nil {
		return body
	}
	return body[:from] + escaped.String() + body[to:]
}

// browser sends bodies as they are, in a session that is opened again when a body has ended it.
type browser struct {
	lab    *sim.Lab
	client *vim25.Client
}

func (b *browser) login(t testing.TB) {
	t.Helper()
	v := b.lab.VCenters()[0]
	sc := soap.NewClient(v.URL(), false)
	if err := sc.SetRootCAs(b.lab.CAFile); err != nil {
		t.Fatal(err)
	}
	c, err := vim25.NewClient(t.Context(), sc)
	if err == nil {
		err = session.NewManager(c).Login(t.Context(), url.UserPassword(v.User(), v.Password()))
	}
	if err != nil {
		t.Fatalf("no login any more: %v", err)
	}
	b.client = c
}

func (b *browser) send(t *testing.T, body string) {
	t.Helper()
	if b.client == nil {
		b.login(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if strings.Contains(body, "WaitForUpdates") { // it may wait without a limit
		ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.lab.VCenters()[0].URL().String(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "text/xml")
	res, err := b.client.Client.Client.Do(r)
	if errors.Is(err, context.DeadlineExceeded) && strings.Contains(body, "WaitForUpdates") {
		return
	}
	if err != nil {
		t.Fatalf("no answer: %v\n%q", err, body)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if errors.Is(err, context.DeadlineExceeded) && strings.Contains(body, "WaitForUpdates") {
		return
	}
	if err != nil {
		t.Fatalf("answer: %v\n%q", err, body)
	}
	if bytes.Contains(answer, []byte("NotAuthenticated")) || strings.Contains(body, "Session") || strings.Contains(body, "Logout") {
		b.client.CloseIdleConnections()
		b.client = nil
	}
	switch err := check(answer); {
	case res.StatusCode == http.StatusBadRequest, res.StatusCode == http.StatusNotFound: // not even a request
	case res.StatusCode != http.StatusOK && res.StatusCode != http.StatusInternalServerError:
		t.Fatalf("status %s\n%q\n%q", res.Status, body, answer)
	case err != nil:
		t.Fatalf("%v\n%q\n%q", err, body, answer)
	}
}

// check wants an envelope with something in its body.
func check(answer []byte) error {
	d := xml.NewDecoder(bytes.NewReader(answer))
	var path []string
	full := false
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			path = append(path, token.Name.Local)
			full = full || len(path) == 3 && slices.Equal(path[:2], []string{"Envelope", "Body"})
		case xml.EndElement:
			path = path[:len(path)-1]
		}
	}
	if !full {
		return errors.New("neither result nor fault")
	}
	return nil
}

// record writes down what a client sends that does a little of everything. Calls that name files are not among them: what
// a fuzzer makes of their paths is not for this machine.
func record(t testing.TB, lab *sim.Lab) (bodies []string) {
	t.Helper()
	b := &browser{lab: lab}
	b.login(t)
	c, ctx := b.client, t.Context()
	c.Client.Client.Transport = recorder{c.Client.Client.Transport, &bodies}
	defer c.CloseIdleConnections()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	finder := find.NewFinder(c)
	vms, err := finder.VirtualMachineList(ctx, "/dc/vm/*")
	must(err)
	vm := vms[0]
	_, err = object.NewSearchIndex(c).FindByUuid(ctx, nil, "42001f3a-5b1c-4d2e-8f60-0123456789ab", true, new(true))
	must(err)
	_, err = object.NewSearchIndex(c).FindAllByDnsName(ctx, nil, "vm-00001", true)
	must(err)
	_, err = object.NewSearchIndex(c).FindByInventoryPath(ctx, "/dc/vm/vm-00001")
	must(err)
	cv, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	must(err)
	lv, err := view.NewManager(c).CreateListView(ctx, []types.ManagedObjectReference{vm.Reference()})
	must(err)
	pc, err := property.DefaultCollector(c).Create(ctx)
	must(err)
	filter := new(property.WaitFilter).Add(cv.Reference(), "VirtualMachine", []string{"name", "guest.net", `config.extraConfig["x"]`}, cv.TraversalSpec())
	_, err = pc.CreateFilter(ctx, filter.CreateFilter)
	must(err)
	_, err = pc.WaitForUpdates(ctx, "", &types.WaitOptions{MaxWaitSeconds: types.NewInt32(0), MaxObjectUpdates: 2})
	must(err)
	_, err = methods.CheckForUpdates(ctx, c, &types.CheckForUpdates{This: pc.Reference()})
	must(err)
	must(pc.CancelWaitForUpdates(ctx))
	_, err = lv.Add(ctx, []types.ManagedObjectReference{vms[1].Reference()})
	must(err)
	var m mo.VirtualMachine
	must(vm.Properties(ctx, vm.Reference(), []string{"summary", "config.hardware.device"}, &m))
	for _, f := range []func(context.Context) (*object.Task, error){vm.PowerOff, vm.PowerOn, vm.Suspend, vm.PowerOn, vm.Reset} {
		task, err := f(ctx)
		must(err)
		must(task.Wait(ctx))
	}
	for _, spec := range []types.VirtualMachineConfigSpec{
		{Annotation: "x", NumCPUs: 4, MemoryMB: 1024},
		{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.x", Value: "y"}}},
	} {
		task, err := vm.Reconfigure(ctx, spec)
		must(err)
		must(task.Wait(ctx))
	}
	task, err := vm.Rename(ctx, "renamed")
	must(err)
	must(task.Wait(ctx))
	for _, f := range []func() error{
		func() error { return vm.ShutdownGuest(ctx) },
		func() error { _, err := methods.GetCurrentTime(ctx, c); return err },
		func() error { _, err := methods.GetServiceContent(ctx, c); return err },
		func() error { _, err := session.NewManager(c).UserSession(ctx); return err },
		func() error { return lv.Destroy(ctx) },
		func() error { return pc.Destroy(ctx) },
	} {
		must(f())
	}
	for _, f := range []func(context.Context) (*object.Task, error){vms[4].PowerOff, vms[4].Destroy} {
		task, err := f(ctx)
		must(err)
		must(task.Wait(ctx))
	}
	must(session.NewManager(c).Logout(ctx))
	slices.Sort(bodies)
	return slices.Compact(bodies)
}

type recorder struct {
	next   http.RoundTripper
	bodies *[]string
}

// RoundTrip implements http.RoundTripper.
func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		*r.bodies = append(*r.bodies, string(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	return r.next.RoundTrip(req)
}
