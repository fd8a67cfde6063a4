package property_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// fetch calls Fetch as ovftool does and returns the answer's text.
func fetch(t *testing.T, c *vim25.Client, ref types.ManagedObjectReference, prop string) string {
	t.Helper()
	body := fmt.Sprintf(`<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><Fetch xmlns="urn:vim25"><_this type="%s">%s</_this><prop>%s</prop></Fetch></Body></Envelope>`,
		ref.Type, ref.Value, prop)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL().String(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var text string
	err = c.Client.Do(context.Background(), req, func(res *http.Response) error {
		b, err := io.ReadAll(res.Body)
		text = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFetch(t *testing.T) {
	var see, read veil
	v := newVCenter(t, true, property.Options{Visible: see.allows, Readable: read.allows}, small)
	c := v.login(t)
	vms := v.vms()
	v.set(vms[0], change("name", "a name to find"))
	asEntity := ref("ManagedEntity", vms[0].Value)
	cv := vmView(t, c, "VirtualMachine")
	tests := []struct {
		what string
		ref  types.ManagedObjectReference
		prop string
		want string
	}{
		{"property", vms[0], "name", "a name to find"},
		{"by base type", asEntity, "name", "a name to find"},
		{"of a view", cv.Reference(), "view", vms[1].Value},
		{"service content", vim25.ServiceInstance, "content", "rootFolder"},
		{"no such property", vms[0], "nope", "InvalidProperty"},
		{"no such object", ref("VirtualMachine", "vm-none"), "name", "ManagedObjectNotFound"},
	}
	for _, test := range tests {
		if got := fetch(t, c, test.ref, test.prop); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s in it", test.what, got, test.want)
		}
	}
	read.set(vms[0], true)
	if got := fetch(t, c, vms[0], "name"); !strings.Contains(got, "NoPermission") {
		t.Errorf("may not be read: got %s", got)
	}
	see.set(vms[1], true)
	if got := fetch(t, c, vms[1], "name"); !strings.Contains(got, "NoPermission") {
		t.Errorf("may not be seen: got %s", got)
	}
}
