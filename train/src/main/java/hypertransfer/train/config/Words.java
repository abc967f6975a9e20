package hypertransfer.train.config;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Decline;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.ShapeFactor;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.ranks.Ranks.Transport;
import hypertransfer.train.Word;
import hypertransfer.train.network.Design;
import hypertransfer.train.network.Preset;
import hypertransfer.train.optimizer.Directions;
import hypertransfer.train.optimizer.Representation;
import hypertransfer.train.optimizer.View;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.ValueDeserializer;
import tools.jackson.databind.ValueSerializer;
import tools.jackson.databind.module.SimpleModule;

/** The words of a configuration: each is looked up once, when the file is read, and written as it was. */
final class Words extends SimpleModule {
    Words() {
        word(Mode.class, Mode::parse, Mode::label);
        word(View.class, View::parse, View::text);
        word(Policy.class, Policy::parse, Policy::text);
        word(Preset.class, Preset::parse, Preset::label);
        word(Curve.Named.class, text -> new Curve.Named(text, Decline.parse(text)), Curve.Named::text);
        word(Directions.class, "matrices.direction");
        word(Representation.Master.class, "matrices.master");
        word(Matrices.Init.class, "matrices.init");
        word(Coefficients.class, "matrices.coefficients");
        word(ShapeFactor.class, "matrices.shape_factor");
        word(Matrices.Gradient.class, "matrices.gradient");
        word(Nonlinearity.class, "model.mlp");
        word(Configuration.Precision.class, "model.precision");
        word(Design.Positions.class, "model.positions");
        word(Design.Norm.class, "model.norm");
        word(Transport.class, "ranks.transport");
    }

    private <E extends Enum<E>> void word(Class<E> type, String key) {
        word(type, text -> of(type, key, text), Word::of);
    }

    private <T> void word(Class<T> type, Function<String, T> parse, Function<T, String> text) {
        addDeserializer(type, new ValueDeserializer<T>() {
            @Override
            public T deserialize(JsonParser parser, DeserializationContext context) {
                return parse.apply(context.readValue(parser, String.class));
            }
        });
        addSerializer(type, new ValueSerializer<T>() {
            @Override
            public void serialize(T value, JsonGenerator generator, SerializationContext context) {
                generator.writeString(text.apply(value));
            }
        });
    }

    private static <E extends Enum<E>> E of(Class<E> type, String key, String text) {
        List<String> labels =
                Arrays.stream(type.getEnumConstants()).map(Word::of).toList();
        return Word.find(type, text)
                .orElseThrow(() -> new Refusal(key + " is '" + text + "'; it must be "
                        + String.join(", ", labels.subList(0, labels.size() - 1)) + " or " + labels.getLast()));
    }
}
