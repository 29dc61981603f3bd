package server

import (
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/certs"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/stream/bus"
)

// The parsers of settings. Each writes its target only when the value is
// good; its error says what is wrong and what is allowed, without the key.

// parseOptional leaves the target empty for an empty value.
func parseOptional(v string, to *string, parse func(string, *string) error) error {
	if v == "" {
		return nil
	}
	return parse(v, to)
}

func parseAddr(v string, to *string) error {
	host, port, err := net.SplitHostPort(v)
	if err != nil {
		return fmt.Errorf("%q is not host:port, such as :8080 or 127.0.0.1:8080", v)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("port %q is not a number from 0 to 65535", port)
	}
	if strings.ContainsAny(host, " /@") {
		return fmt.Errorf("host %q is neither an address nor a name", host)
	}
	*to = v
	return nil
}

// items yields the items of a list that are separated by commas, without the
// empty ones.
func items(v string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(v, ",") {
			if item = strings.TrimSpace(item); item != "" && !yield(item) {
				return
			}
		}
	}
}

// maxTargets is how many addresses the network canary may call.
const maxTargets = 8

// parseTargets reads addresses with a host and a port, separated by commas.
func parseTargets(v string, to *[]string) error {
	var list []string
	for item := range items(v) {
		var addr string
		if err := parseAddr(item, &addr); err != nil {
			return err
		}
		if strings.HasPrefix(addr, ":") || strings.HasSuffix(addr, ":0") {
			return fmt.Errorf("%q needs a host and a port, such as one.one.one.one:443", item)
		}
		list = append(list, addr)
	}
	if len(list) > maxTargets {
		return fmt.Errorf("has %d addresses, at most %d are allowed", len(list), maxTargets)
	}
	*to = list
	return nil
}

// parseURL leaves the target nil for an empty value.
func parseURL(v string, to **url.URL, schemes ...string) error {
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil { // the cause would repeat the value, which may hold a password
		return errors.New("not a URL")
	}
	if !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" {
		return fmt.Errorf("needs the form %s://host", strings.Join(schemes, ":// or "))
	}
	*to = u
	return nil
}

// parseHeaders reads name=value, separated by commas. An error names no value,
// which may be a secret.
func parseHeaders(v string, to *map[string]string) error {
	if v == "" {
		return nil
	}
	headers := map[string]string{}
	for i, pair := range strings.Split(v, ",") {
		name, text, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t:") || strings.ContainsFunc(pair, unicode.IsControl) {
			return fmt.Errorf("header %d of the list does not have the form name=value", i+1)
		}
		headers[name] = strings.TrimSpace(text)
	}
	*to = headers
	return nil
}

// parseRatio reads a number from 0 to 1.
func parseRatio(v string, to *float64) error {
	ratio, err := strconv.ParseFloat(v, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return errors.New("must be a number from 0 to 1")
	}
	*to = ratio
	return nil
}

// parseIssuer accepts plain http on this machine only: on a network, a man in the
// middle could replace the issuer's keys.
func parseIssuer(v string, to **url.URL) error {
	var u *url.URL
	if err := parseURL(v, &u, "https", "http"); err != nil || u == nil {
		return err
	}
	switch {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.String() != v:
		return errors.New("may hold a scheme, a host, a port and a path only")
	case u.Scheme == "http" && !arena.IsLoopbackHost(u.Hostname()):
		return errors.New("needs https, unless it is on this machine")
	}
	*to = u
	return nil
}

// maxProviderName is how many characters fit on a button.
const maxProviderName = 40

// parseProviderName accepts a short line of text.
func parseProviderName(v string, to *string) error {
	if v != "" && v != plaintext.Line(v, maxProviderName) {
		return fmt.Errorf("must be one line of at most %d characters", maxProviderName)
	}
	*to = v
	return nil
}

func parsePublicURL(v string, to **url.URL) error {
	var u *url.URL
	if err := parseURL(v, &u, "https", "http"); err != nil || u == nil {
		return err
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery || strings.Trim(u.Path, "/") != "" {
		return errors.New("may hold a scheme, a host and a port only: the arena serves from the root of its host")
	}
	*to = &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}
	return nil
}

// CheckDatabaseURL reports what is wrong with a value of ARENA_DATABASE_URL.
func CheckDatabaseURL(v string) error {
	var checked string
	return parseDatabaseURL(v, &checked)
}

func parseDatabaseURL(v string, to *string) error {
	switch {
	case v == "sqlite:" || v == "sqlite::memory:":
		return errors.New("needs the name of a file, such as sqlite:arena.db")
	case strings.HasPrefix(v, "sqlite:"):
	case strings.HasPrefix(v, "postgres://"), strings.HasPrefix(v, "postgresql://"):
		if u, err := url.Parse(v); err != nil {
			return errors.New("not a URL; a password with special characters must be percent-encoded")
		} else if u.Host == "" && !u.Query().Has("host") {
			return errors.New("names no host")
		}
	default:
		return errors.New("needs the form sqlite:FILE or postgres://user:password@host/database")
	}
	*to = v
	return nil
}

// parseRedisURL leaves it to the bus what a URL of Redis is.
func parseRedisURL(v string, to *string) error {
	if err := bus.CheckURL(v); err != nil {
		return err
	}
	*to = v
	return nil
}

func parseAdminToken(v string, to *string) error {
	if v == "" {
		return nil
	}
	if len(v) < 16 || len(v) > 256 {
		return fmt.Errorf("has %d characters, 16 to 256 are allowed", len(v))
	}
	for _, r := range v {
		if r <= ' ' || r > '~' {
			return errors.New("holds a character that is not visible ASCII")
		}
	}
	*to = v
	return nil
}

func parseOneOf(v string, to *string, allowed ...string) error {
	if !slices.Contains(allowed, v) {
		return fmt.Errorf("%q is none of %s", v, strings.Join(allowed, ", "))
	}
	*to = v
	return nil
}

func parseSwitch(v string, to *bool) error {
	switch v {
	case "1", "true":
		*to = true
	case "", "0", "false":
		*to = false
	default:
		return fmt.Errorf("%q is neither 1 nor 0", v)
	}
	return nil
}

func parseDuration(v string, to *time.Duration, least, most time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30s or 2m", v)
	}
	if d < least || d > most {
		return fmt.Errorf("%s is outside %s to %s", d, least, most)
	}
	*to = d
	return nil
}

const day = 24 * time.Hour

// parseAge reads 0, or a duration that may also be in days, such as 90d.
func parseAge(v string, to *time.Duration, least, most time.Duration) error {
	d, err := time.ParseDuration(v)
	if days, ok := strings.CutSuffix(v, "d"); ok {
		var n uint64
		if n, err = strconv.ParseUint(days, 10, 16); err == nil {
			d = time.Duration(n) * day
		}
	}
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 36h or 90d", v)
	}
	if d != 0 && (d < least || d > most) {
		return fmt.Errorf("%s is neither 0 nor inside %s to %dd", v, least, most/day)
	}
	*to = d
	return nil
}

// parseCount reads a whole number from 1 to most.
func parseCount(v string, to *int, most int) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return fmt.Errorf("%q is not a whole number", v)
	}
	if n < 1 || n > most {
		return fmt.Errorf("%d is outside 1 to %d", n, most)
	}
	*to = n
	return nil
}

func parseLevel(v string, to *slog.Level) error {
	var name string
	if err := parseOneOf(v, &name, "debug", "info", "warn", "error"); err != nil {
		return err
	}
	return to.UnmarshalText([]byte(name))
}

// parseTLS reads off, auto, or the paths of a certificate and its key.
func parseTLS(v string, c *Config) error {
	if v == TLSOff || v == TLSAuto {
		c.TLS = v
		return nil
	}
	paths := slices.Collect(items(v))
	if len(paths) != 2 {
		return fmt.Errorf("%q is neither off, auto nor two files: cert.pem,key.pem", v)
	}
	c.TLS, c.TLSFiles = TLSFiles, certs.Files{Cert: paths[0], Key: paths[1]}
	return nil
}

func parseEmail(v string, to *string) error {
	if a, err := mail.ParseAddress(v); err != nil || a.Address != v {
		return fmt.Errorf("%q is not an email address such as ops@example.org", v)
	}
	*to = v
	return nil
}

// parseSMTP reads the address of an SMTP server. An error does not repeat it: it
// may hold a password.
func parseSMTP(v string, to **url.URL) error {
	var u *url.URL
	if err := parseURL(v, &u, "smtp", "smtps"); err != nil || u == nil {
		return err
	}
	if _, has := u.User.Password(); has {
		return errors.New("must not hold the password; put it into ARENA_SMTP_PASSWORD")
	}
	if strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" {
		return errors.New("may hold a scheme, a user, a host and a port only")
	}
	*to = u
	return nil
}

// parseSender accepts an address, with or without a name.
func parseSender(v string, to *string) error {
	if _, err := mail.ParseAddress(v); err != nil {
		return fmt.Errorf("%q is not an address such as arena@example.org or Arena <arena@example.org>", v)
	}
	*to = v
	return nil
}

func parseCAFile(v string, to *string) error {
	data, err := os.ReadFile(v) //nolint:gosec // G304: the operator names the file
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return fmt.Errorf("%s holds no PEM certificate", v)
	}
	*to = v
	return nil
}

// parseCIDRs reads ranges separated by commas. A lone address is the range
// of that address.
func parseCIDRs(v string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for item := range items(v) {
		p, err := netip.ParsePrefix(item)
		if addr, addrErr := netip.ParseAddr(item); addrErr == nil && addr.Zone() == "" {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is not an address range such as 10.0.0.0/8", item)
		case p.Addr().Is4In6():
			return nil, fmt.Errorf("%s is an IPv4 range in IPv6 dress; write it as IPv4", item)
		case p != p.Masked():
			return nil, fmt.Errorf("%s has bits set after its /%d; did you mean %s?", item, p.Bits(), p.Masked())
		}
		list = append(list, p)
	}
	return list, nil
}

// parseAllowCIDRs refuses ranges that hold an address where a cloud hands out
// credentials. Threat S8.
func parseAllowCIDRs(v string, to *[]netip.Prefix) error {
	list, err := parseCIDRs(v)
	if err != nil {
		return err
	}
	for _, p := range list {
		for _, metadata := range []string{"169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"} {
			if p.Contains(netip.MustParseAddr(metadata)) {
				return fmt.Errorf("%s holds the cloud metadata address %s, which is never allowed; name smaller ranges", p, metadata)
			}
		}
	}
	*to = list
	return nil
}

// parseTrustedProxies refuses ranges that hold all addresses: any client could then
// choose its own address. Threat V2.
func parseTrustedProxies(v string, to *[]netip.Prefix) error {
	list, err := parseCIDRs(v)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.Bits() == 0 {
			return fmt.Errorf("%s trusts every address; name the ranges of your proxies", p)
		}
	}
	*to = list
	return nil
}

// parseOwnerLinks reads the optional kinds of links that make owners one group,
// and adds those that always do.
func parseOwnerLinks(v string) ([]arena.UnratedReason, error) {
	kinds, optional := arena.OwnerLinkKinds()
	for item := range items(v) {
		kind := arena.UnratedReason("shared_" + item)
		if !slices.Contains(optional, kind) {
			return nil, fmt.Errorf("%q is none of domain, network", item)
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// parseKeep reads how many backups are kept; all is 0.
func parseKeep(v string, to *int) error {
	if v == "all" {
		*to = 0
		return nil
	}
	if err := parseCount(v, to, 10_000); err != nil {
		return fmt.Errorf("%w, or all", err)
	}
	return nil
}
