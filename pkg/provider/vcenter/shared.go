package vcenter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// serviceAccountToken is where a pod finds the token of its ServiceAccount.
	serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	// managerTimeout bounds the question to a session manager, as upstream has it.
	managerTimeout = 5 * time.Second
)

// cloneTicket asks a session manager for a ticket to clone its session with: GET, a bearer token, and for an answer
// {"token": "…"}. Whom to trust is as for the vCenter.
func cloneTicket(ctx context.Context, cfg *Config, creds Credentials) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, managerTimeout)
	defer cancel()
	ticket, err := askManager(ctx, cfg, creds)
	if err != nil {
		if urlErr, ok := errors.AsType[*url.Error](err); ok {
			err = urlErr.Err // its address may hold more than is to be told
		}
		return "", fmt.Errorf("%s: %w: %w", creds, errManager, err)
	}
	return ticket, nil
}

func askManager(ctx context.Context, cfg *Config, creds Credentials) (string, error) {
	bearer := creds.SessionManagerToken
	if bearer == "" {
		file, err := os.ReadFile(cfg.TokenFile)
		if err != nil {
			return "", err
		}
		bearer = strings.TrimSpace(string(file))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, creds.SessionManagerURL, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("User-Agent", cfg.UserAgent)
	t := &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		TLSClientConfig:   cfg.TLS(req.URL.Hostname()),
		DialTLSContext:    cfg.dialTLS(nil),
		DisableKeepAlives: true,
	}
	res, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", errors.New(res.Status)
	}
	var answer struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&answer); err != nil {
		return "", fmt.Errorf("answer: %w", err)
	}
	if answer.Token == "" {
		return "", errors.New("answer holds no token")
	}
	return answer.Token, nil
}
