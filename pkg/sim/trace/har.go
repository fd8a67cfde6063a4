package trace

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
)

// HAR writes calls as an HTTP Archive 1.2, which browsers and proxies open.
func HAR(w io.Writer, calls []Call) error {
	type pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	pairs := func(header map[string]string) []pair {
		all := []pair{}
		for _, key := range slices.Sorted(maps.Keys(header)) {
			all = append(all, pair{key, header[key]})
		}
		return all
	}
	type object = map[string]any
	none := []object{}
	entries := []object{}
	for _, c := range calls {
		u := &url.URL{Scheme: "https", Host: c.VCenter}
		if full, err := u.Parse(c.URI); err == nil {
			u = full
		}
		query := []pair{}
		for key, values := range u.Query() {
			for _, v := range values {
				query = append(query, pair{key, v})
			}
		}
		slices.SortFunc(query, func(a, b pair) int { return strings.Compare(a.Name+"="+a.Value, b.Name+"="+b.Value) })
		request := object{
			"method": c.Verb, "url": u.String(), "httpVersion": "HTTP/1.1", "cookies": none, "headers": pairs(c.Request.Header), "queryString": query,
			"headersSize": -1, "bodySize": c.Request.Size,
		}
		if c.Request.Body != "" {
			request["postData"] = object{"mimeType": c.Request.Header["Content-Type"], "text": c.Request.Body}
		}
		ms := float64(c.Duration) / float64(time.Millisecond)
		entries = append(entries, object{
			"startedDateTime": c.Start.Format(time.RFC3339Nano), "time": ms, "request": request,
			"response": object{
				"status": c.Status, "statusText": http.StatusText(c.Status), "httpVersion": "HTTP/1.1", "cookies": none, "headers": pairs(c.Answer.Header),
				"content":     object{"size": c.Answer.Size, "mimeType": c.Answer.Header["Content-Type"], "text": c.Answer.Body},
				"redirectURL": "", "headersSize": -1, "bodySize": c.Answer.Size,
			},
			"cache": object{}, "timings": object{"send": 0, "wait": ms, "receive": 0},
			"comment": c.Method + " by " + shortClient(c.Client),
		})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(object{"log": object{
		"version": "1.2", "creator": object{"name": "vsphere-sandbox", "version": build.Version()}, "entries": entries,
	}})
}
