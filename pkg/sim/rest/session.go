package rest

import (
	"net/http"
	"strings"
	"time"
)

// header carries the session, as does a cookie of the same name.
const header = "vmware-api-session-id"

// noCookie is the header by which a client asks for no cookie.
const noCookie = "vmware-use-header-authn"

// session answers calls on the session itself.
func (h *Handler) session(w http.ResponseWriter, r *http.Request, api bool) {
	action := r.URL.Query().Get(actionKey(api))
	switch {
	case r.Method == http.MethodPost && action == "":
		h.login(w, r, api)
	case r.Method == http.MethodGet && action == "", r.Method == http.MethodPost && action == "get" && !api:
		id, _, ok := h.authenticate(r)
		if !ok {
			loginRequired().write(w, api)
			return
		}
		write(w, api, http.StatusOK, h.details.get(id))
	case r.Method == http.MethodDelete && action == "":
		id, _, ok := h.authenticate(r)
		if !ok {
			loginRequired().write(w, api)
			return
		}
		h.opts.Sessions.CloseREST(id)
		h.EndSession(id)
		write(w, api, http.StatusNoContent, nil)
	default:
		noOperation().write(w, api)
	}
}

// login opens a session for user and password. Tokens are refused: there is nobody who could issue one.
func (h *Handler) login(w http.ResponseWriter, r *http.Request, api bool) {
	user, password, ok := r.BasicAuth()
	if !ok || !h.opts.Valid(user, password) {
		loginRequired().write(w, api)
		return
	}
	id, err := h.opts.Sessions.OpenREST(user)
	if err != nil {
		newFault(unavailable, msgTooMany, err.Error()).write(w, api)
		return
	}
	h.details.open(id, user, time.Now())
	if !strings.EqualFold(r.Header.Get(noCookie), "true") {
		path := restPrefix
		if api {
			path = apiPrefix
		}
		http.SetCookie(w, &http.Cookie{Name: header, Value: id, Path: path, Secure: true, HttpOnly: true})
	}
	write(w, api, http.StatusCreated, id)
}

// authenticate tells whose session the call is of.
func (h *Handler) authenticate(r *http.Request) (id, user string, ok bool) {
	if id = r.Header.Get(header); id == "" {
		cookie, err := r.Cookie(header)
		if err != nil {
			return "", "", false
		}
		id = cookie.Value
	}
	if user, ok = h.opts.Sessions.TouchREST(id); !ok {
		h.details.drop(id)
		return "", "", false
	}
	h.details.touch(id, user, time.Now())
	return id, user, true
}

// EndSession forgets what is known of a session that is over.
func (h *Handler) EndSession(id string) { h.details.drop(id) }

func actionKey(api bool) string {
	if api {
		return "action"
	}
	return "~action"
}

// write answers with a value in the form of /api or of /rest, which knows one status of success only. A nil value means
// that there is none.
func write(w http.ResponseWriter, api bool, status int, value any) {
	switch {
	case api && value == nil:
		w.WriteHeader(http.StatusNoContent)
	case api:
		writeJSON(w, status, value)
	case value == nil:
		w.WriteHeader(http.StatusOK)
	default:
		writeJSON(w, http.StatusOK, struct {
			Value any `json:"value"`
		}{value})
	}
}
