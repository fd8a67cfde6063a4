package gate

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"strings"
)

// soapMethod returns the name of the first element in the Body of a SOAP envelope, "" when there is none. It stops
// there and checks nothing: the simulator decides what is well formed.
func soapMethod(envelope []byte) string {
	d := xml.NewDecoder(bytes.NewReader(envelope))
	inside := false
	for {
		t, err := d.RawToken()
		if err != nil {
			return ""
		}
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
		case inside:
			return e.Name.Local
		case e.Name.Local == "Body":
			inside = true
		}
	}
}

// restMethod names a REST call so that calls of one kind share a name: identifiers become {id}, and of the query only
// ~action and action, which select the operation, are kept. Paths outside /rest and /api name files, so only their first
// element is kept.
func restMethod(r *http.Request) string {
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if segments[0] == "rest" || segments[0] == "api" {
		for i, s := range segments {
			if strings.ContainsAny(s, ":") || len(s) >= 32 {
				segments[i] = "{id}"
			}
		}
	} else {
		segments = segments[:1]
	}
	name := r.Method + " /" + strings.Join(segments, "/")
	q := r.URL.Query()
	for _, key := range []string{"~action", "action"} {
		if v := q.Get(key); v != "" {
			return name + "?" + key + "=" + v
		}
	}
	return name
}
