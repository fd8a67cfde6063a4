package migrate

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// parameters converts what the in-tree provisioner was told. It read the keys in any case.
func (w *classWriter) parameters(p pair) {
	into := mapping()
	w.made.node.Content = append(w.made.node.Content, p.key, into)
	w.made.parameters = into
	w.tell(p, "parameters", judgment{verdict: Kept, to: []string{"parameters"}})
	for _, q := range pairs(p.value) {
		path := "parameters." + q.key.Value
		change := func(to, why string) {
			if field(into, to) != nil {
				w.refuse(q, path, "is set already, by another name", "")
				return
			}
			put(into, to, q.value)
			j := judgment{verdict: Changed, to: []string{"parameters." + to}, why: why}
			if to == q.key.Value {
				j.verdict = Kept
			}
			w.tell(q, path, j)
		}
		switch strings.ToLower(q.key.Value) {
		case "storagepolicyname":
			change(names.ParameterPolicy, "")
			w.made.wants = false // a datastore was found that complies
		case "fstype", names.ParameterFSType:
			change(names.ParameterFSType, "")
		case "datastore":
			w.datastore(q, path)
		case "diskformat":
			why := "volumes are thin where their storage policy says nothing else"
			if !strings.EqualFold(q.value.Value, "thin") {
				why = "a storage policy says it now: " + why
				w.c.attend("StorageClass " + w.made.name + ": disks were " + q.value.Value + ", and are thin now. Name a storage policy for it in storagepolicyname")
			}
			w.tell(q, path, judgment{verdict: Dropped, why: why})
		case "hostfailurestotolerate", "forceprovisioning", "cachereservation", "diskstripes", "objectspacereservation", "iopslimit":
			w.c.attend("StorageClass " + w.made.name + ": make a storage policy of its vSAN capabilities, and name it in storagepolicyname; without it volumes get the datastore's default policy")
			w.tell(q, path, judgment{verdict: Dropped, why: "vSAN capabilities are in a storage policy now: the CSI driver takes no others"})
		default:
			w.refuse(q, path, "unknown parameter", near(q.key.Value, "datastore", "diskformat", "fstype", "storagePolicyName",
				"hostFailuresToTolerate", "forceProvisioning", "cacheReservation", "diskStripes", "objectSpaceReservation", "iopsLimit"))
		}
	}
}

// datastore makes a URL of a datastore's name.
func (w *classWriter) datastore(q pair, path string) {
	w.made.wants = w.made.wants && text(q.value) == ""
	if text(q.value) == "" {
		w.tell(q, path, judgment{verdict: Dropped, why: saysNothing})
		return
	}
	if field(w.made.parameters, names.ParameterDatastore) != nil {
		w.refuse(q, path, "is set already, by another name", "")
		return
	}
	url := w.urls.of(q.value.Value)
	if url == "" {
		w.c.attendURL(w.made.name, q.value.Value)
		w.tell(q, path, judgment{verdict: Dropped, why: "a class names a datastore by its URL, and that of " + q.value.Value + " was not told"})
		return
	}
	put(w.made.parameters, names.ParameterDatastore, scalar(url))
	w.tell(q, path, judgment{verdict: Changed, to: []string{"parameters." + names.ParameterDatastore}, why: "a datastore is named by its URL"})
}
