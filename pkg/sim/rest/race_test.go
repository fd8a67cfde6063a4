package rest_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// TestEverybodyAtOnce: clients tag, list, delete and destroy at the same time; both indexes agree in the end.
func TestEverybodyAtOnce(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Single, nil, "a", "b")
	v.category(t, "any", rest.Multiple, nil, "c", "d")
	vms, c := v.vms(), v.soap(t)
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			f := flavors[worker%2]
			for n := range 60 {
				vm := wire(vms[(worker+n)%2])
				name := tag(string(rune('a' + n%4)))
				for _, call := range []struct {
					path string
					body any
				}{
					{f.path("tag-association", name, "attach"), map[string]any{"object_id": vm}},
					{f.path("tag-association", "", "list-attached-tags-on-objects"), map[string]any{"object_ids": []any{vm}}},
					{f.path("tag-association", "", "list-attached-objects-on-tags"), map[string]any{"tag_ids": []string{name}}},
					{f.path("tag-association", name, "detach"), map[string]any{"object_id": vm}},
					{f.path("tag", "", ""), f.spec("create_spec", map[string]string{
						"name": fmt.Sprint(worker, n), "description": "",
						"category_id": cat("any"),
					})},
				} {
					if a := v.do(t, http.MethodPost, call.path, call.body); a.status >= 500 {
						t.Errorf("%s: %+v", call.path, a)
					}
				}
				switch n {
				case 20:
					v.do(t, http.MethodDelete, f.path("tag", tag("d"), ""), nil)
				case 30 + worker:
					v.Snapshot()
				}
				if worker == 0 && n == 40 {
					task, err := object.NewVirtualMachine(c, vms[0]).Destroy(t.Context())
					if err == nil {
						err = task.Wait(t.Context())
					}
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if got := v.Tags(vms[0]); len(got) != 0 {
		t.Errorf("tags of a VM that is gone: %v", got)
	}
	for _, a := range v.Snapshot().Associations {
		if a.Object == vms[0] {
			t.Errorf("%s is on a VM that is gone", a.TagID)
		}
	}
}
