package truth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

func TestTaskSaysWhatAndWhy(t *testing.T) {
	for _, tc := range []struct {
		name           string
		without        []stock.Behavior
		entity, reason string
	}{
		{"corrected", nil, "", "The attempted operation cannot be performed in the current state (Powered off)."},
		{"stock", []stock.Behavior{stock.Tasks}, "vm-", "*types.InvalidPowerState"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := start(t, tc.without...)
			vm := v.vms()[0]
			if tc.entity == "" {
				tc.entity = vm.Name()
			}
			ctx := t.Context()
			var last *object.Task
			for range 2 { // it is off the second time
				task, err := vm.PowerOff(ctx)
				if err != nil {
					t.Fatal(err)
				}
				_ = task.Wait(ctx)
				last = task
			}
			var got mo.Task
			if err := property.DefaultCollector(v.client).RetrieveOne(ctx, last.Reference(), []string{"info"}, &got); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got.Info.EntityName, tc.entity) {
				t.Errorf("entity %q, want %q", got.Info.EntityName, tc.entity)
			}
			if got.Info.Error == nil || got.Info.Error.LocalizedMessage != tc.reason {
				t.Errorf("error %+v, want %q", got.Info.Error, tc.reason)
			}
		})
	}
}

func TestFaultStrings(t *testing.T) {
	fault := func(text, name, detail string) string {
		return `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
			`<soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>` + text + `</faultstring><detail><` +
			name + `Fault xmlns="urn:vim25" xsi:type="` + name + `">` + detail + `</` + name + `Fault></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`
	}
	const duplicate = `<name>a&lt;b</name><object type="Folder">f</object>`
	for _, tc := range []struct {
		name, body, want string
		status           int
	}{
		{
			"a type's name", fault("DuplicateName", "DuplicateName", duplicate),
			fault("The name &#39;a&lt;b&#39; already exists.", "DuplicateName", duplicate), 500,
		},
		{"nothing", fault("", "NotFound", ""), fault("The object or item referred to could not be found.", "NotFound", ""), 500},
		{"words of its own", fault("no", "NotFound", ""), fault("no", "NotFound", ""), 500},
		{
			"a fault without words", fault("IORMNotSupportedHostOnDatastore", "IORMNotSupportedHostOnDatastore", ""),
			fault("IORMNotSupportedHostOnDatastore", "IORMNotSupportedHostOnDatastore", ""), 500,
		},
		{"no fault", "<faultstring>x</faultstring>", "<faultstring>x</faultstring>", 500},
		{"cut off", "<faultstring>x", "<faultstring>x", 500},
		{"an answer", fault("NotFound", "NotFound", ""), fault("NotFound", "NotFound", ""), 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := FaultStrings(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body[:5]))
				_, _ = w.Write([]byte(tc.body[5:]))
			}))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/sdk", nil))
			if w.Code != tc.status || w.Body.String() != tc.want {
				t.Errorf("%d\n%s\nwant %d\n%s", w.Code, w.Body, tc.status, tc.want)
			}
		})
	}
}
