package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

type anyone struct{}

func (anyone) OpenREST(string) (string, error) { return "x", nil }
func (anyone) CloseREST(string)                {}
func (anyone) TouchREST(string) (string, bool) { return "user", true }

// BenchmarkTenThousand asks about 10,000 VMs with two tags each, of 20.
func BenchmarkTenThousand(b *testing.B) {
	base := simulator.NewContext()
	h := New(Options{Base: base, Sessions: anyone{}, Valid: func(string, string) bool { return true }})
	b.Cleanup(h.Close)
	var objects, tags []string
	for c := range 2 {
		id := fmt.Sprintf("%s%d", CategoryPrefix, c)
		_ = h.Category(id, id, "", Single, nil)
		for n := range 10 {
			tag := fmt.Sprintf("%s%d-%d", TagPrefix, c, n)
			_ = h.Tag(tag, id, tag, "")
			tags = append(tags, tag)
		}
	}
	for n := range 10_000 {
		vm := &mo.VirtualMachine{}
		vm.Self = vc.Ref{Type: "VirtualMachine", Value: fmt.Sprintf("vm-%d", n)}
		base.Map.Put(vm)
		objects = append(objects, fmt.Sprintf(`{"type":"VirtualMachine","id":%q}`, vm.Self.Value))
		for c := range 2 {
			if err := h.Attach(tags[c*10+n%10], vm.Self); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, call := range []struct{ name, action, body string }{
		{"tags-on-objects", "list-attached-tags-on-objects", `{"object_ids":[` + strings.Join(objects, ",") + `]}`},
		{"objects-on-tags", "list-attached-objects-on-tags", `{"tag_ids":["` + strings.Join(tags, `","`) + `"]}`},
		{"tags-on-one", "list-attached-tags", `{"object_id":` + objects[77] + `}`},
	} {
		b.Run(call.name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/api/cis/tagging/tag-association?action="+call.action, strings.NewReader(call.body))
				r.Header.Set(header, "x")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Body.String())
				}
			}
		})
	}
}
